use kitbag_manifest::{
    AccountName, ApiKey, Auths, BasicAuth, OAuth2AuthorizationCode, OAuth2ClientCredentials,
};

use super::*;

/// A declaration of `ana` with these hosts, readable secrets and scopes.
fn declaration(hosts: &[&str], secrets: &[&str], scopes: &[&str]) -> ToolkitDefinition {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    ToolkitDefinition {
        egress: owned(hosts),
        secrets: owned(secrets),
        scopes: owned(scopes),
        ..ToolkitDefinition::default()
    }
}

fn with(auth: Auth, definition: ToolkitDefinition) -> ToolkitDefinition {
    ToolkitDefinition { auth: Auths(vec![auth]), ..definition }
}

fn key(secret: &str) -> Auth {
    Auth::ApiKey(ApiKey {
        secret: secret.to_owned(),
        api_host: "api.example".to_owned(),
        ..ApiKey::default()
    })
}

fn account(change: impl FnOnce(&mut OAuth2AuthorizationCode)) -> Auth {
    let mut grant = OAuth2AuthorizationCode {
        authorization_url: "https://id.example/auth".to_owned(),
        token_url: "https://id.example/token".to_owned(),
        client_id_secret: "CLIENT_ID".to_owned(),
        scope: Some("read write".to_owned()),
        api_host: "api.example".to_owned(),
        ..OAuth2AuthorizationCode::default()
    };
    change(&mut grant);
    Auth::AuthorizationCode(grant)
}

fn sign_in(token_url: &str, scope: Option<&str>) -> Auth {
    Auth::ClientCredentials(OAuth2ClientCredentials {
        token_url: token_url.to_owned(),
        client_id_secret: "ID".to_owned(),
        client_secret_secret: "SECRET".to_owned(),
        scope: scope.map(str::to_owned),
        api_host: "api.example".to_owned(),
    })
}

/// Returns the kinds and names of the parts beyond `agreed`.
fn beyond(agreed: &ToolkitDefinition, wanted: &ToolkitDefinition) -> Vec<String> {
    // Converted as by the database.
    let agreed = Reach::of(agreed, "ana");
    let agreed = Reach::stored("ana".to_owned(), &agreed.text()).expect("its own text");
    let items = Reach::of(wanted, "ana").beyond(&agreed);
    items.iter().map(|it| format!("{} {}", it.kind, it.name)).collect()
}

#[track_caller]
fn check(agreed: &ToolkitDefinition, wanted: &ToolkitDefinition, expected: &[&str]) {
    assert_eq!(beyond(agreed, wanted), expected, "{agreed:?}\n{wanted:?}");
}

#[test]
fn each_part_that_grows_is_beyond_and_each_that_shrinks_is_not() {
    let small = declaration(&["api.example"], &["KEY"], &["svc:search"]);
    for (large, grown) in [
        (declaration(&["api.example", "new.example"], &["KEY"], &["svc:search"]), "Network new.example"),
        (declaration(&["api.example"], &["KEY", "NEW"], &["svc:search"]), "Secret NEW"),
        (declaration(&["api.example"], &["KEY"], &["svc:search", "svc:ingest"]), "Knowledge base svc:ingest"),
    ] {
        check(&small, &large, &[grown]);
        check(&large, &small, &[]);
        check(&large, &large, &[]);
    }
    check(&small, &declaration(&[], &[], &[]), &[]);
    // `svc:ask` needs no consent: a user who is asked decides each time.
    check(&small, &declaration(&["api.example"], &["KEY"], &["svc:search", "svc:ask"]), &[]);
    check(
        &declaration(&[], &[], &[]),
        &small,
        &["Network api.example", "Secret KEY", "Knowledge base svc:search"],
    );
}

#[test]
fn hosts_are_compared_as_hosts() {
    let agreed = declaration(&["Api.Example.com", "db.example.com:8443", "bücher.example"], &["KEY"], &[]);
    for same in ["api.example.COM", "api.example.com.", "db.example.com:8443", "xn--bcher-kva.example"] {
        check(&agreed, &declaration(&[same], &["KEY"], &[]), &[]);
    }
    for (other, named) in [
        ("apl.example.com", "apl.example.com"),
        ("api.example.com.evil.example", "api.example.com.evil.example"),
        ("example.com", "example.com"),
        ("v2.api.example.com", "v2.api.example.com"),
        // Has a Cyrillic letter, and is shown in Punycode.
        ("аpi.example.com", "xn--pi-6kc.example.com"),
        ("api.example.com:8443", "api.example.com:8443"),
        ("db.example.com", "db.example.com"),
        ("db.example.com:443", "db.example.com:443"),
        // There are no wildcards: a text that is not a host is covered by nothing.
        ("*.example.com", "*.example.com"),
        ("*", "*"),
    ] {
        check(&agreed, &declaration(&[other], &["KEY"], &[]), &[&format!("Network {named}")]);
    }
    // A stored line that is not a host covers nothing, not even itself.
    let broken = declaration(&["*.example.com"], &["KEY"], &[]);
    check(&broken, &broken, &["Network *.example.com"]);
}

#[test]
fn a_secret_that_becomes_readable_is_beyond_and_one_that_is_sealed_is_not() {
    let sealed = with(key("KEY"), declaration(&["api.example"], &[], &[]));
    let readable = declaration(&["api.example"], &["KEY"], &[]);

    check(&sealed, &readable, &["Secret KEY"]);
    // The toolkit could have sent the secret there itself.
    check(&readable, &sealed, &[]);
    let both = with(key("KEY"), readable.clone());
    check(&both, &sealed, &[]);
    check(&sealed, &both, &["Secret KEY"]);
    let other = with(key("OTHER"), declaration(&["api.example"], &[], &[]));
    check(&sealed, &other, &["Secret OTHER", "Sign-in api.example"]);
    let said = Reach::of(&readable, "ana").beyond(&Reach::of(&sealed, "ana"));
    assert_eq!(
        said[0].meaning,
        "is read by the toolkit, which may send it to the hosts that it reaches; only the server used it until now"
    );
}

#[test]
fn another_way_to_sign_in_is_beyond() {
    let base = || declaration(&["api.example", "id.example"], &[], &[]);
    let agreed = with(account(|_| ()), base());
    for same in [
        account(|it| it.scope = Some("write  read".to_owned())),
        account(|it| it.scope = Some("read".to_owned())),
        account(|it| it.token_url = "https://ID.example:443/token".to_owned()),
        account(|it| it.api_host = "API.example.".to_owned()),
        account(|it| {
            let url = "https://api.example/me".to_owned();
            it.account_name = Some(AccountName { url, pointer: "/login".to_owned() }.into());
        }),
    ] {
        check(&agreed, &with(same, base()), &[]);
    }
    let changes: [fn(&mut OAuth2AuthorizationCode); 8] = [
        |it| it.scope = Some("read write admin".to_owned()),
        // Without scopes the provider decides.
        |it| it.scope = None,
        |it| it.token_url = "https://id.example/other".to_owned(),
        |it| it.token_url = "https://ld.example/token".to_owned(),
        |it| it.authorization_url = "https://id.example:8443/auth".to_owned(),
        |it| it.revocation_url = Some("https://id.example/revoke".to_owned()),
        |it| drop(it.authorization_params.insert("audience".to_owned(), "all".to_owned())),
        |it| it.api_host = "id.example".to_owned(),
    ];
    for change in changes {
        let wanted = account(change);
        let expected = format!("Sign-in {}", wanted.api_host());
        check(&agreed, &with(wanted, base()), &[&expected]);
    }
    // An account is never covered by the secrets that the toolkit can read.
    let reads = declaration(&["api.example", "id.example"], &["CLIENT_ID"], &[]);
    check(&reads, &with(account(|_| ()), base()), &["Sign-in api.example"]);

    let token = "https://id.example/token";
    let agreed = with(sign_in(token, None), base());
    check(&agreed, &with(sign_in("https://ID.example/token", None), base()), &[]);
    check(&agreed, &with(sign_in("https://id.example/t", None), base()), &["Sign-in api.example"]);
    check(&agreed, &with(sign_in(token, Some("a")), base()), &["Sign-in api.example"]);
    let basic = Auth::Basic(BasicAuth {
        username_secret: "ID".to_owned(),
        password_secret: "SECRET".to_owned(),
        api_host: "api.example".to_owned(),
    });
    check(&agreed, &with(basic, base()), &["Sign-in api.example"]);
    check(&agreed, &base(), &[]);
}

#[test]
fn another_owner_is_beyond_and_says_whose_it_was() {
    let definition = declaration(&["api.example"], &["KEY"], &[]);
    let anas = Reach::of(&definition, "ana");
    let bens = Reach::of(&definition, "ben");

    let beyond = bens.beyond(&anas);

    assert_eq!(beyond.len(), 1);
    assert_eq!(
        (beyond[0].name.as_str(), beyond[0].meaning.as_str()),
        ("ben", "owns it now; when you agreed, it was ana's")
    );
    assert_ne!(anas.digest(), bens.digest());
    // The order and the spelling in a declaration do not matter.
    let other = declaration(&["API.example", "api.example"], &["KEY"], &[]);
    assert_eq!(Reach::of(&other, "ana").digest(), anas.digest());
    assert!(!anas.text().contains("\"ana\""), "user ids change in a copy of the service");
}

#[test]
fn a_new_host_says_what_may_go_there() {
    let agreed = declaration(&[], &["KEY"], &["svc:search"]);
    let wanted = declaration(&["new.example"], &["KEY"], &["svc:search"]);

    let said = Reach::of(&wanted, "ana").beyond(&Reach::of(&agreed, "ana"));

    assert_eq!(said[0].meaning, "receives its requests, which may carry your documents and your secrets KEY");
}
