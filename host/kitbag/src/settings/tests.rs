//! Sources of settings, and invalid settings.

use super::*;

#[test]
fn the_file_takes_every_kind_of_value_and_refuses_unknown_keys() {
    let file = Sources::from_toml(
        r#"
        listen = "127.0.0.1:1"
        operators = ["ana", "group:admins"]
        allow-private-ranges = ["10.0.0.0/8"]
        concurrent-calls = 3
        issuer = "https://id.example.com"

        [call]
        time = "1m 30s"
        memory = "64MiB"

        [objects]
        location = "s3://files/kitbag"
        endpoint = "https://s3.example.com"
        region = "eu-central-1"
        key-id = "AKIA"
        secret = "secret"
        "#,
    )
    .expect("every key is known");

    let settings = Settings::from_sources(Sources::default(), file);

    assert_eq!(settings.call_time.get().as_secs(), 90);
    assert_eq!(settings.call_memory.bytes(), 64 << 20);
    let expected = [Operator::User("ana".to_owned()), Operator::Group("admins".to_owned())];
    assert_eq!(*settings.operators, expected);
    assert_eq!(settings.concurrent_calls, 3);
    let bucket = ObjectsLocation::Bucket { name: "files".to_owned(), prefix: "kitbag".to_owned() };
    assert_eq!((settings.objects, settings.objects_region), (bucket, "eu-central-1".to_owned()));
    assert_eq!(settings.objects_key_id.get().map(String::as_str), Some("AKIA"));
    assert!(settings.objects_secret.get().is_some() && settings.objects_endpoint.into_inner().is_some());
    for invalid in [
        "call.tiem = \"1s\"",
        "call.time = \"soon\"",
        "call-time = \"1s\"",
        "objects = \"folder\"",
        "operators = [\"group:\"]",
    ] {
        assert!(Sources::from_toml(invalid).is_err(), "{invalid}");
    }
    let error = Sources::from_toml("call-time = \"1s\"").expect_err("it is in a table");
    assert_eq!(tables::hint(error.message()).as_deref(), Some("`call-time` is `call.time` in this file"));
    let error = Sources::from_toml("call-tiem = \"1s\"").expect_err("it is misspelt");
    assert_eq!(tables::hint(error.message()), None);
    let error = Sources::from_toml("objects = \"folder\"").expect_err("it is a table");
    assert!(error.message().contains("[objects], with location"), "{error}");
}

#[test]
fn local_sign_in_stays_on_this_machine() {
    let load = |listen: &str, base_url: Option<&str>, issuer: &str| {
        let given = Sources {
            listen: Some(listen.parse().expect("an address")),
            base_url: base_url.map(|url| url.parse().expect("a base URL")),
            issuer: Some(issuer.parse().expect("an issuer")),
            ..Sources::default()
        };
        Settings::load(given, None)
    };

    assert!(load("127.0.0.1:1", None, "local").is_ok());
    assert!(load("127.0.0.1:1", Some("http://localhost:1"), "local").is_ok());
    assert!(matches!(load("0.0.0.0:1", None, "local"), Err(SettingsError::LocalIssuerInPublic(_))));
    assert!(matches!(
        load("127.0.0.1:1", Some("https://tunnel.example"), "local"),
        Err(SettingsError::LocalBaseUrlInPublic(_))
    ));
    assert!(load("127.0.0.1:1,[::1]:1,unix:/s", None, "local").is_ok());
    assert!(matches!(load("127.0.0.1:1,[::]:1", None, "local"), Err(SettingsError::LocalIssuerInPublic(_))));
    assert!(matches!(load("unix:/s", None, "local"), Err(SettingsError::NoBaseUrl(_))));
    assert!(load("unix:/s", Some("http://localhost:1"), "local").is_ok());
    assert!(matches!(load("", None, "local"), Err(SettingsError::NoAddress)));
    assert!(load("0.0.0.0:1", Some("https://kitbag.example"), "https://id.example").is_ok());
    assert!(matches!(load("0.0.0.0:1", None, "https://id.example"), Err(SettingsError::NoBaseUrl(_))));
}

#[test]
fn a_certificate_has_a_key_and_an_address_and_makes_urls_secure() {
    let load = |listen: &str, base_url: Option<&str>, certificate: Option<&str>, key: Option<&str>| {
        let given = Sources {
            listen: Some(listen.parse().expect("an address")),
            base_url: base_url.map(|url| url.parse().expect("a base URL")),
            tls_certificate: certificate.map(|path| path.parse().expect("a path")),
            tls_key: key.map(|path| path.parse().expect("a path")),
            ..Sources::default()
        };
        Settings::load(given, None)
    };
    let with_both = |listen, base_url| load(listen, base_url, Some("/c"), Some("/k"));

    let address = "127.0.0.1:8787".parse().expect("an address");
    let url = |settings: Settings| settings.base_url(&[address]).expect("a URL").to_string();
    assert_eq!(url(with_both("127.0.0.1:1", None).expect("both are set")), "https://127.0.0.1:8787/");
    assert_eq!(url(load("127.0.0.1:1", None, None, None).expect("neither is")), "http://127.0.0.1:8787/");
    for (certificate, key) in [(Some("/c"), None), (None, Some("/k"))] {
        let refused = load("127.0.0.1:1", None, certificate, key);
        assert!(matches!(refused, Err(SettingsError::IncompleteTls)), "{refused:?}");
    }
    let plain = with_both("127.0.0.1:1", Some("http://localhost:1"));
    assert!(matches!(plain, Err(SettingsError::PlainBaseUrl(_))), "{plain:?}");
    let nowhere = with_both("unix:/s", Some("https://localhost:1"));
    assert!(matches!(nowhere, Err(SettingsError::TlsWithoutAddress)), "{nowhere:?}");
    assert!(with_both("unix:/s,127.0.0.1:1", Some("https://localhost:1")).is_ok());
    // Local sign-in is limited to this machine, also over TLS.
    let public = with_both("0.0.0.0:1", Some("https://localhost:1"));
    assert!(matches!(public, Err(SettingsError::LocalIssuerInPublic(_))), "{public:?}");
    let tunnel = with_both("127.0.0.1:1", Some("https://tunnel.example"));
    assert!(matches!(tunnel, Err(SettingsError::LocalBaseUrlInPublic(_))), "{tunnel:?}");
}

#[test]
fn a_database_is_a_file_or_a_server_and_a_url_that_is_wrong_is_not_quoted() {
    let file = tempfile::NamedTempFile::new().expect("a scratch file");
    let load = |database: &str, issuer: &str| {
        let given = Sources {
            database: database.parse().ok(),
            objects: Some(ObjectsLocation::DataDirectory),
            issuer: Some(issuer.parse().expect("valid")),
            ..Sources::default()
        };
        Settings::load(given, Some(file.path()))
    };

    for refused in ["postgres//kitbag:s3cr3t@db/kitbag", "mysql://kitbag:s3cr3t@db/kitbag", "file.sqlite", ""]
    {
        let refused = load(refused, "https://id.example").expect_err("neither");
        assert!(matches!(refused, SettingsError::Database) && !refused.to_string().contains("s3cr3t"));
    }
    let server = "postgres://kitbag:s3cr3t@db/kitbag";
    assert!(matches!(load(server, "local"), Err(SettingsError::DatabaseServerInLocalMode)));
    let loaded = load(server, "https://id.example").expect("it is one");
    assert!(matches!(&loaded.database, DatabaseLocation::Server(_)));
    assert!(!format!("{loaded:?}").contains("s3cr3t"), "nor is one that is right");
    assert!(load("sqlite", "local").is_ok());
}

#[test]
fn where_files_are_is_said_when_the_database_is_a_servers() {
    let load = |database: &str, objects: Option<&str>| {
        let given = Sources {
            listen: Some("127.0.0.1:1".parse().expect("an address")),
            database: database.parse().ok(),
            objects: objects.map(|objects| objects.parse().expect("a place")),
            issuer: Some("https://id.example".parse().expect("valid")),
            ..Sources::default()
        };
        Settings::load(given, None).map(|settings| settings.objects)
    };
    let server = "postgres://kitbag@db/kitbag";

    let refused = load(server, None).expect_err("it is not said");
    assert!(matches!(refused, SettingsError::ObjectsUnnamed), "{refused}");
    assert_eq!(load(server, Some("folder")).expect("it is said"), ObjectsLocation::DataDirectory);
    assert_eq!(load("sqlite", None).expect("it may be left out"), ObjectsLocation::Default);
    let folder = load(server, Some("folder:/srv/files")).expect("it is said");
    assert_eq!(folder, ObjectsLocation::Folder("/srv/files".into()));
}

#[test]
fn a_bucket_goes_with_a_server_and_with_a_key_that_is_not_shown() {
    let file = tempfile::NamedTempFile::new().expect("a scratch file");
    let load = |database: &str, objects: &str, key: Option<&str>, endpoint: Option<&str>| {
        let given = Sources {
            database: database.parse().ok(),
            objects: objects.parse().ok(),
            objects_endpoint: endpoint.map(|it| it.parse().expect("a URL")),
            objects_key_id: key.map(|_| "key".parse().expect("an id")),
            objects_secret: key.map(|it| it.parse().expect("a secret")),
            issuer: Some("https://id.example".parse().expect("valid")),
            ..Sources::default()
        };
        Settings::load(given, Some(file.path()))
    };
    let server = "postgres://kitbag@db/kitbag";
    let bucket = "s3://files/production";

    let loaded = load(server, bucket, Some("s3cr3t"), Some("http://s3.internal:9000")).expect("all is said");
    assert!(!format!("{loaded:?}").contains("s3cr3t"));
    let without_key = load(server, bucket, None, None);
    assert!(matches!(without_key, Err(SettingsError::BucketWithoutKey)), "{without_key:?}");
    let beside_a_file = load("sqlite", bucket, Some("s3cr3t"), None);
    assert!(matches!(beside_a_file, Err(SettingsError::BucketWithoutServer)), "{beside_a_file:?}");
    for (key, endpoint) in [(Some("s3cr3t"), None), (None, Some("http://s3.internal:9000"))] {
        let no_bucket = load(server, "folder", key, endpoint);
        assert!(matches!(no_bucket, Err(SettingsError::KeyWithoutBucket)), "{no_bucket:?}");
    }
}

#[test]
fn a_master_key_in_the_place_of_where_it_is_is_refused_without_being_quoted() {
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let hexadecimal = "a00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let file = tempfile::NamedTempFile::new().expect("a scratch file");
    let from_file = |line: &str| {
        std::fs::write(file.path(), format!("connections = 1\n{line}\n")).expect("it is ours");
        Settings::load(Sources::default(), Some(file.path()))
    };
    let as_flag = |text: &str| {
        let given = Sources { master_key: text.parse().ok(), ..Sources::default() };
        Settings::load(given, None)
    };

    for refused in [
        as_flag(key),
        as_flag(&format!("env:{key}")),
        as_flag(&format!("env:{hexadecimal}")),
        from_file(&format!("master-key = \"{key}\"")),
        from_file(&format!("master-key = [\"{key}\"]")),
    ] {
        assert!(matches!(&refused, Err(SettingsError::MasterKey)), "{refused:?}");
    }
    for line in [format!("master-key = {key}"), format!("master-key \"{key}\"")] {
        let refused = from_file(&line).expect_err("no TOML").to_string();
        assert!(refused.contains("line 2") && !refused.contains("AAEC"), "{refused}");
    }
    assert!(as_flag("env:KITBAG_KEY").is_ok() && from_file("master-key = \"file:/a\"").is_ok());
}

#[test]
fn a_model_is_here_or_a_service_and_never_half_of_it() {
    let load = |file: &str| {
        let path = tempfile::NamedTempFile::new().expect("a scratch file");
        std::fs::write(path.path(), file).expect("it is ours");
        Settings::load(Sources::default(), Some(path.path()))
    };
    let service = "embedding-url = \"https://a.example/v1/embeddings\"\nembedding-model = \"m\"\n";

    assert_eq!(load("").expect("nothing is wrong").model, Model::Default);
    assert_eq!(load("model = \"none\"").expect("it is right").model, Model::None);
    for named in ["/m", "./e5-small-v2", "e5-small-v2"] {
        let settings = load(&format!("model = \"{named}\"")).expect("it is right");
        assert_eq!(settings.model, Model::NameOrFolder(named.into()));
    }
    assert!(load("model = \"\"").is_err());
    let with_key = load(&format!("{service}embedding-key = \"hunter2\"")).expect("it is right");
    assert!(with_key.embedding_key.get().is_some() && !format!("{with_key:?}").contains("hunter2"));
    assert!(matches!(
        load(service.lines().next().unwrap_or_default()),
        Err(SettingsError::IncompleteService)
    ));
    assert!(matches!(load(&format!("{service}model = \"/m\"")), Err(SettingsError::TwoModels)));
    let file = service.replace("https://a.example", "file://");
    assert!(matches!(load(&file), Err(SettingsError::EmbeddingUrl)));
}

#[test]
fn an_address_is_the_range_of_itself() {
    let ranges: List<AddressRange> = "10.0.0.7, 10.1.0.0/16,fd00::1".parse().expect("they are right");

    let shown: Vec<_> = ranges.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["10.0.0.7/32", "10.1.0.0/16", "fd00::1/128"]);
    assert!("10.0.0".parse::<AddressRange>().is_err() && "10.0.0.0/33".parse::<AddressRange>().is_err());
}

#[test]
fn a_flag_wins_over_the_file() {
    let flags = Sources { connections: Some(1), ..Sources::default() };
    let file = Sources { connections: Some(2), concurrent_calls: Some(9), ..Sources::default() };

    let settings = Settings::from_sources(flags, file);

    assert_eq!((settings.connections, settings.concurrent_calls), (1, 9));
}

#[test]
fn the_client_of_the_pages_belongs_to_a_provider_and_its_secret_to_it() {
    let load = |issuer: &str, id: Option<&str>, secret: Option<&str>| {
        let given = Sources {
            listen: Some("127.0.0.1:1".parse().expect("an address")),
            issuer: Some(issuer.parse().expect("an issuer")),
            web_client_id: id.map(|id| id.parse().expect("an id")),
            web_client_secret: secret.map(|secret| secret.parse().expect("a secret")),
            ..Sources::default()
        };
        Settings::load(given, None)
    };
    let provider = "https://id.example";

    for (id, secret) in
        [(None, None), (Some("pages"), None), (Some("pages"), Some("s")), (Some("register"), None)]
    {
        assert!(load(provider, id, secret).is_ok(), "{id:?}");
    }
    assert!(matches!(load("local", Some("pages"), None), Err(SettingsError::WebClientInLocalMode)));
    for id in [None, Some("register")] {
        let refused = load(provider, id, Some("pages-secret")).expect_err("a secret of nobody");
        assert!(matches!(refused, SettingsError::WebClientSecret), "{refused}");
        assert!(!refused.to_string().contains("pages-secret"));
    }
}

#[test]
fn the_client_of_mcp_clients_belongs_to_a_provider() {
    let load = |issuer: &str, id: &str| {
        let given = Sources {
            listen: Some("127.0.0.1:1".parse().expect("an address")),
            issuer: Some(issuer.parse().expect("an issuer")),
            mcp_client_id: Some(id.parse().expect("a text")),
            ..Sources::default()
        };
        Settings::load(given, None)
    };

    assert!(load("https://id.example", "shared-client").is_ok());
    assert!(matches!(load("local", "shared-client"), Err(SettingsError::McpClientInLocalMode)));
    for id in ["--scope", "a\nb"] {
        assert!(matches!(load("https://id.example", id), Err(SettingsError::McpClientId)), "{id:?}");
    }
}

#[test]
fn extractors_are_beside_the_program_or_where_packages_have_them() {
    let prefix = tempfile::tempdir().expect("a scratch directory");
    let program = prefix.path().join("bin/kitbag");
    let beside = prefix.path().join("bin/extractors");
    let packaged = prefix.path().join("lib/kitbag/extractors");

    assert_eq!(extractors_of(&program), beside);
    std::fs::create_dir_all(&packaged).expect("a scratch folder");
    assert_eq!(extractors_of(&program), packaged);
    std::fs::create_dir_all(&beside).expect("a scratch folder");
    assert_eq!(extractors_of(&program), beside);
}

#[test]
fn groups_come_from_where_the_users_do() {
    const PROVIDER: &str = "https://id.example.com";

    let load = |issuer: &str, claim: Option<&str>, local: &str, operators: &str| {
        let given = Sources {
            issuer: Some(issuer.parse().expect("an issuer")),
            base_url: Some("http://localhost:1".parse().expect("a base URL")),
            groups_claim: claim.map(|claim| claim.parse().expect("a claim")),
            local_groups: Some(local.parse().expect("groups")),
            operators: Some(operators.parse().expect("operators")),
            ..Sources::default()
        };
        Settings::load(given, None)
    };
    assert!(load(PROVIDER, Some("groups"), "", "group:admins").is_ok());
    assert!(load("local", None, "ana=admins", "group:admins").is_ok());
    let refused = load(PROVIDER, None, "", "ana,group:admins");
    assert!(matches!(refused, Err(SettingsError::GroupWithoutClaim)), "{refused:?}");
    let refused = load(PROVIDER, Some("groups"), "ana=admins", "");
    assert!(matches!(refused, Err(SettingsError::LocalGroupsWithProvider)), "{refused:?}");
    let refused = load("local", Some("groups"), "", "");
    assert!(matches!(refused, Err(SettingsError::GroupsClaimInLocalMode)), "{refused:?}");
}
