use super::*;
use crate::words::language::LANGUAGES;

fn analyzer(language: Language) -> Analyzer {
    Analyzer::for_passage(language, "", "")
}

fn terms(language: Language, text: &str) -> Vec<Term> {
    analyzer(language).words(text).map(|word| word.term).collect()
}

/// Forms of the same words in each language.
const FORMS: [(Language, &str, &str); 20] = [
    (Language::English, "houses, pricing", "house PRICE"),
    (Language::German, "Häuser Straßen Büchern", "Haus STRASSE Buch"),
    (Language::French, "chevaux l’avion gâteaux", "cheval avions gâteau"),
    (Language::French, "d'été qu’une", "ÉTÉ une"),
    (Language::Spanish, "informaciones canciones", "información canción"),
    (Language::Spanish, "información números", "informacion NUMERO"),
    (Language::Italian, "dell'arte gatti città", "arte gatto citta"),
    (Language::Portuguese, "eleições corações informações", "eleição coração informação"),
    (Language::Portuguese, "eleições informação coração", "eleicao informacoes coracao"),
    (Language::Dutch, "boeken kinderen", "boek kinder"),
    (Language::Swedish, "flickorna husen", "flicka hus"),
    (Language::Danish, "bilerne husene", "bil hus"),
    (Language::Norwegian, "jentene bilene", "jente bil"),
    (Language::Finnish, "talossa kirjat", "talo kirja"),
    (Language::Hungarian, "házban könyvek", "ház könyv"),
    (Language::Romanian, "cărților copiilor", "cărţi copii"),
    (Language::Russian, "книгами ёлки", "книга елки"),
    (Language::Russian, "servers", "server"),
    (Language::Turkish, "KİTAPLAR IŞIK IP DISK", "kitap ışık ip disk"),
    (Language::Arabic, "المكتبة", "مكتبة"),
];

#[test]
fn words_are_stemmed_by_the_rules_of_their_language() {
    for (language, one, other) in FORMS {
        assert_eq!(terms(language, one), terms(language, other), "{language:?}: {one:?} and {other:?}");
    }
    assert_ne!(terms(Language::German, "Häuser"), terms(Language::English, "Häuser"));
    assert_ne!(terms(Language::Spanish, "acción"), terms(Language::Spanish, "nación"));
}

#[test]
fn codes_and_stems_never_change() {
    for (code, language) in (0..).zip(LANGUAGES) {
        assert_eq!((language.code(), Language::from_code(code)), (code, Some(language)));
        for has_pairs in [false, true] {
            let analyzer = Analyzer::for_passage(language, "", if has_pairs { "東" } else { "" });
            assert_eq!(analyzer.code(), code * 2 + u8::from(has_pairs));
            assert_eq!(Analyzer::from_code(analyzer.code()), Some(analyzer));
        }
    }
    let stems = FORMS.map(|(language, _, other)| terms(language, other)[0]);
    let expected = [
        2_226_512_614,
        4_141_792_513,
        3_234_051_277,
        3_660_104_932,
        370_886_155,
        370_886_155,
        1_946_652_095,
        2_554_228_366,
        2_554_228_366,
        2_448_097_454,
        1_907_209_761,
        2_758_676_418,
        4_260_712_609,
        771_465_489,
        2_616_211_334,
        1_446_217_491,
        1_934_225_344,
        385_071_982,
        2_049_962_543,
        3_392_900_010,
    ];
    assert_eq!(stems, expected);
    assert_eq!(count(Language::German, "", "Häuser")[..4], [1, 0, 0, 2]);
    assert_eq!(count(Language::German, "東", "Häuser")[..4], [2, 0, 0, 3]);
}

#[test]
fn the_language_is_that_of_the_beginning() {
    for (language, text) in [
        (Language::English, "The wing of an aircraft makes lift because of the air that flows around it."),
        (
            Language::German,
            "Der Flügel erzeugt Auftrieb, weil die Luft ihn umströmt und nach unten gelenkt wird.",
        ),
        (Language::French, "L'aile produit de la portance parce que l'air s'écoule autour d'elle."),
        (Language::Spanish, "El ala produce sustentación porque el aire fluye alrededor de ella."),
        (Language::Italian, "L'ala genera portanza perché l'aria scorre intorno alla sua superficie."),
        (Language::Portuguese, "A asa gera sustentação porque o ar não pára de fluir à sua volta."),
        (Language::Dutch, "De vleugel van een vliegtuig geeft draagkracht doordat er lucht omheen stroomt."),
        (Language::Swedish, "Vingen ger lyftkraft eftersom luften strömmar runt den och böjs nedåt."),
        (Language::Finnish, "Siipi synnyttää nostovoimaa, koska ilma virtaa sen ympärillä."),
        (Language::Hungarian, "A szárny felhajtóerőt ad, mert a levegő körüláramlik rajta."),
        (Language::Romanian, "Aripa produce portanță fiindcă aerul curge în jurul ei și este împins în jos."),
        (Language::Russian, "Крыло создаёт подъёмную силу, потому что его обтекает воздух."),
        (Language::Turkish, "Hava etrafından aktığı için uçağın kanadı kaldırma kuvveti oluşturur."),
        (
            Language::Arabic,
            "يولد الجناح قوة الرفع لأن الهواء الذي يتدفق من حوله يندفع إلى أسفل، وهذا ما يرفع الطائرة عن الأرض.",
        ),
        // Uncertain language, or one without a stemmer.
        (Language::English, "Wing"),
        (Language::English, ""),
        (Language::English, "3000 -- https://example.com/a?b=c"),
        (Language::English, "翼は揚力を生みます。"),
        (Language::English, "Skrzydło wytwarza siłę nośną, ponieważ opływa je powietrze."),
    ] {
        assert_eq!(Language::of("", text), language, "{text}");
        assert_eq!(Language::of(text, ""), language, "{text}");
    }
    for (text, code) in [
        ("The wing of an aircraft makes lift because of the air that flows around it.", Some("eng")),
        ("L'aile produit de la portance parce que l'air s'écoule autour d'elle.", Some("fra")),
        ("翼は揚力を生みます。", Some("jpn")),
        ("Skrzydło wytwarza siłę nośną, ponieważ opływa je powietrze.", Some("pol")),
        ("Wing", None),
        ("3000 -- https://example.com/a?b=c", None),
    ] {
        assert_eq!(language_of("", text), code, "{text}");
    }
    let german = "Der Flügel erzeugt Auftrieb, weil die Luft ihn umströmt. ";
    let english = "The wing of an aircraft makes lift because air flows around it. ";
    assert_eq!(Language::of("", &(german.repeat(200) + &english.repeat(10_000))), Language::German);
}

#[test]
fn a_word_of_a_query_is_dropped_where_it_is_a_stop_word() {
    let english = analyzer(Language::English);
    let german = analyzer(Language::German);
    let words = of_query("die Häuser", [english, german].into_iter().collect());

    let of = |analyzer| words.iter().filter_map(|word| word.term(analyzer)).collect::<Vec<_>>();
    assert_eq!(of(english), terms(Language::English, "die hauser"));
    assert_eq!(of(german), terms(Language::German, "haus"));
    // Stop words also match without accents; they remain if there is no other word.
    assert_eq!(terms_of("fur den Garten", german), terms(Language::German, "Gärten"));
    assert_eq!(terms_of("für die", german), terms(Language::German, "für die"));
    assert_eq!(terms_of("l'avion qu'il a", analyzer(Language::French)), terms(Language::French, "avion"));
}

#[test]
fn a_word_with_the_same_stem_in_several_languages_is_looked_up_once() {
    let all: Analyzers = LANGUAGES.map(analyzer).into_iter().collect();

    let words = of_query("berlin", all);

    assert_eq!(words.len(), 1);
    assert!(words[0].terms().count() <= 3, "{words:?}");
    assert!(LANGUAGES.into_iter().all(|language| words[0].term(analyzer(language)).is_some()));
}

#[test]
fn words_are_marked_by_the_rules_of_the_texts_language() {
    let text = "L'avion et les hôpitaux";

    assert_eq!(marked("avions d'un hôpital", text, analyzer(Language::French)), ["hôpitaux"]);
    assert_eq!(marked("avion, hôpital", text, analyzer(Language::French)), ["L'avion", "hôpitaux"]);
    assert_eq!(marked("avion, hôpital", text, analyzer(Language::English)), [""; 0]);
}

#[test]
fn no_word_makes_a_stemmer_panic() {
    const LETTERS: [&str; 3] = [
        "aeiouyábcdðefghjklmnñopqrsßtuvwxzäöüåæøőűşţğıîâăéèêëïôûùçìòóúíý'",
        "абвгдежзийклмнопрстуфхцчшщъыьэюяё",
        "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىيًٌٍَُِّْـ٠٩",
    ];
    let mut state = 1_u32;
    let mut next = |bound: usize| {
        // Lehmer random number generator.
        state = u32::try_from(u64::from(state) * 48_271 % 2_147_483_647).expect("it is below 2^31");
        state as usize % bound
    };
    let mut buffers = Default::default();

    for language in LANGUAGES {
        let letters: Vec<_> = match language {
            Language::Russian => LETTERS[1],
            Language::Arabic => LETTERS[2],
            _ => LETTERS[0],
        }
        .chars()
        .collect();
        let list: Vec<_> = stop_words::get(language.stop_words()).to_vec();
        for _ in 0..20_000 {
            let mut word: String = (0..next(8)).map(|_| letters[next(letters.len())]).collect();
            for _ in 0..next(3) {
                // Endings are taken from frequent words.
                let part = list[next(list.len())];
                word.push_str(&part[part.ceil_char_boundary(next(part.len() + 1))..]);
            }
            assert!(language.stem(&word, &mut buffers).len() <= 4 * word.len() + 8, "{language:?}: {word:?}");
        }
    }
}

#[test]
fn the_longest_query_is_analysed_for_all_languages_at_once() {
    let all = LANGUAGES
        .into_iter()
        .flat_map(|language| [analyzer(language), Analyzer::for_passage(language, "", "東")]);
    let all: Analyzers = all.collect();
    for query in ["a Ǖ ", "가", "l'é ", "ş東й "] {
        let query: String = query.chars().cycle().take(2_000).collect();

        let words = of_query(&query, all);

        assert!(words.len() <= 2 * 2_000 && words.iter().all(|word| word.terms().count() <= 32));
    }
    let different: Vec<_> = (0..250).map(|n| format!("wört{n}en")).collect();
    assert_eq!(of_query(&different.join(" "), all).len(), 250);
}

#[test]
fn words_longer_than_any_are_not_stemmed() {
    let word = "ab".repeat(19);

    assert_eq!(terms(Language::German, &format!("{word}en")), terms(Language::German, &word));
    assert_ne!(terms(Language::German, &format!("{word}aen")), terms(Language::German, &format!("{word}a")));
}
