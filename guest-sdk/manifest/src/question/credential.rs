//! Rejects forms that ask for credentials: the answer passes through the client, and a model may read it.
//! Users set secrets on a page of the server instead (MCP 2025-11-25, "Elicitation", requires URL mode for
//! them). Credentials are recognised by lists of names, which are not complete.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::fields::{is_free_text, is_number};
use crate::Problems;
use crate::hidden::is_invisible;

/// Names of credentials in languages that separate words, in lower case and without separators: English, German,
/// French, Spanish, Portuguese, Italian, Dutch, Swedish, Danish, Norwegian, Finnish, Polish, Czech, Turkish,
/// Vietnamese, Indonesian.
const WORD_LIST: &str = "
    password passwd passphrase passcode passkey credential apikey accesskey secretkey privatekey
    signingkey encryptionkey accesstoken refreshtoken authtoken apitoken bearertoken creditcard
    debitcard onetimecode onetimepassword onetimepasscode onetimepin verificationcode authenticationcode
    authenticatorcode smscode backupcode recoverycode recoverykey recoveryphrase recoveryword seedphrase
    seedword secretphrase secretrecoveryphrase mnemonicphrase
    passwort passwörter kennwort kennwörter zugangsdaten zugangscode geheimzahl einmalcode
    einmalpasswort bestätigungscode kreditkarte kreditkartennummer wiederherstellungsschlüssel
    wiederherstellungsphrase wiederherstellungscode
    motdepasse motsdepasse codesecret clésecrète cléprivée cléapi codeàusageunique codedevérification
    phrasederécupération cartebancaire cartedecrédit
    contraseña contrasena clavesecreta claveprivada clavedeacceso códigodeverificación códigodeunsolouso
    frasederecuperación frasesemilla tarjetadecrédito senha palavrapasse chavesecreta chaveprivada
    códigodeverificação códigodeusoúnico frasederecuperação cartãodecrédito paroladordine codicesegreto
    codicemonouso codicediverifica chiavesegreta chiaveprivata frasedirecupero cartadicredito
    wachtwoord wachtwoorden toegangscode eenmaligecode verificatiecode herstelzin lösenord losenord
    engångskod verifieringskod adgangskode engangskode passord salasana
    hasło hasła hasłem haslo kodjednorazowy kodweryfikacyjny heslo hesla jednorázovýkód şifre şifreniz
    şifrenizi sifre doğrulamakodu mậtkhẩu matkhau mãxácminh katasandi kodeverifikasi
";
/// Further names of credentials that count only in a field: in a message they may mean something else.
const FIELD_LIST: &str = "
    secret token pwd pin cvv cvc otp totp mfa ssn 2fa cardnumber securitycode mnemonic clave código2fa
    kod2fa
";
/// Parts of names of credentials in other scripts, where words are inflected or not separated: Russian, Ukrainian,
/// Chinese, Japanese, Korean, Arabic, Hebrew, Hindi, Thai.
const STEM_LIST: &str = "
    парол, секретный ключ, приватный ключ, одноразовый код, одноразовий код, код подтверждения,
    код підтвердження, фраза восстановления, фраза відновлення,
    密码, 密碼, 口令, 验证码, 驗證碼, 密钥, 密鑰, 私钥, 私鑰, 助记词, 助記詞, 信用卡号, 信用卡號,
    パスワード, 暗証番号, 認証コード, 確認コード, ワンタイムコード, 秘密鍵, リカバリーフレーズ, シードフレーズ,
    비밀번호, 패스워드, 암호를, 인증번호, 인증코드, 복구문구, 시드문구, 개인키,
    كلمة المرور, كلمة مرور, كلمة السر, رمز التحقق, סיסמה, סיסמא, קוד אימות, पासवर्ड, सत्यापन कोड,
    รหัสผ่าน
";

static WORDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| WORD_LIST.split_whitespace().collect());
static IN_FIELDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| FIELD_LIST.split_whitespace().collect());
static STEMS: LazyLock<Vec<String>> =
    LazyLock::new(|| STEM_LIST.split(',').map(|stem| words(stem).concat()).collect());

/// Rejects free-text and number fields whose own texts name a credential, and free-text fields if the message
/// or the form names one.
pub(super) fn check(message: &str, schema: &Map<String, Value>, problems: &mut Problems) {
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let asked = ["title", "description"].into_iter().filter_map(|it| schema.get(it)?.as_str());
    let is_asked_for = asked.chain([message]).any(|text| names_one(text, &[&WORDS]));
    for (name, field) in fields.filter(|(_, field)| is_free_text(field) || is_number(field)) {
        let texts = ["title", "description"].into_iter().filter_map(|it| field.get(it)?.as_str());
        let is_one = texts.chain([name.as_str()]).any(|text| names_one(text, &[&WORDS, &IN_FIELDS]));
        if is_one || (is_asked_for && is_free_text(field)) {
            problems.add(
                format!("schema.properties.{name}"),
                "asks for a credential, which a form must not: its answer goes through the client. Declare it in `secrets`; \
                 its user sets it on a page of the server",
            );
        }
    }
}

/// Whether a text contains one of the listed names, also in plural or split into several words or letters.
fn names_one(text: &str, lists: &[&BTreeSet<&str>]) -> bool {
    let words = words(text);
    let is_listed = |word: &str| {
        let singular = word.strip_suffix('s').unwrap_or(word);
        lists.iter().any(|list| list.contains(word) || list.contains(singular))
    };
    let begins_any = |start: &str| {
        let next = (Bound::Included(start), Bound::Unbounded);
        lists.iter().any(|list| list.range::<str, _>(next).next().is_some_and(|name| name.starts_with(start)))
    };
    let is_one = |words: &[String]| {
        let mut joined = String::new();
        for word in words {
            joined.push_str(word);
            if is_listed(&joined) {
                return true;
            }
            if !begins_any(&joined) {
                break;
            }
        }
        false
    };
    let joined = words.concat();
    STEMS.iter().any(|stem| joined.contains(stem)) || (0..words.len()).any(|start| is_one(&words[start..]))
}

/// Splits a text or an identifier (`apiKey`, `API_KEY`) into words, in lower case. Common look-alikes of
/// ASCII letters are replaced with these.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in text.chars().filter(|letter| !is_invisible(*letter)).map(plain) {
        let begins = !letter.is_alphanumeric() || (was_small && letter.is_uppercase());
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        was_small = letter.is_lowercase() || letter.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the ASCII letter that a full-width, Cyrillic or Greek letter looks like.
fn plain(letter: char) -> char {
    match letter {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter),
        'а' | 'α' => 'a',
        'с' | 'ϲ' => 'c',
        'е' | 'ε' => 'e',
        'і' | 'ι' => 'i',
        'к' | 'κ' => 'k',
        'о' | 'ο' => 'o',
        'р' | 'ρ' => 'p',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'ԝ' => 'w',
        'у' => 'y',
        'А' | 'Α' => 'A',
        'С' => 'C',
        'Е' | 'Ε' => 'E',
        'І' | 'Ι' => 'I',
        'К' | 'Κ' => 'K',
        'О' | 'Ο' => 'O',
        'Р' | 'Ρ' => 'P',
        'Ѕ' => 'S',
        'Т' | 'Τ' => 'T',
        _ => letter,
    }
}
