//! The setting `egress-policy`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use kitbag_net::egress::{Allowlist, HostPolicy, canonical_host};
use serde::{Deserialize, Deserializer, de};

/// Key and prefix of the hosts for all users.
const EVERYONE: &str = "everyone";

/// Hosts that toolkits may reach at most, for all users and for members of groups. Unset: those that they declare.
///
/// In the file a list of hosts, or a table with `everyone` and `group:NAME`; in a flag `a.example,group:NAME=b.example`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressPolicy(Option<Box<Hosts>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Hosts {
    everyone: BTreeSet<String>,
    groups: BTreeMap<String, BTreeSet<String>>,
}

impl EgressPolicy {
    /// Returns the policy, if it is set.
    pub fn policy(&self) -> Option<HostPolicy> {
        let Hosts { everyone, groups } = self.0.as_deref()?;
        let list = |hosts| Allowlist::parse(hosts).expect("each host was parsed");
        let groups = groups.iter().map(|(group, hosts)| (group.clone(), list(hosts)));
        Some(HostPolicy::new(list(everyone), groups.collect()))
    }
}

impl Hosts {
    /// Adds an item of a list: `HOST`, `everyone=HOST` or `group:NAME=HOST`.
    fn add_item(&mut self, item: &str) -> Result<(), String> {
        let (whom, host) = item.rsplit_once('=').unwrap_or((EVERYONE, item));
        let host = host.trim().to_owned();
        self.of(whom.trim())?.insert(parsed(&host)?);
        Ok(())
    }

    /// Returns the hosts of `everyone` or `group:NAME`.
    fn of(&mut self, whom: &str) -> Result<&mut BTreeSet<String>, String> {
        match whom.strip_prefix("group:") {
            Some(group) if !group.is_empty() => Ok(self.groups.entry(group.to_owned()).or_default()),
            None if whom == EVERYONE => Ok(&mut self.everyone),
            _ => Err(format!("hosts are for everyone or for a group, as group:NAME, and not for {whom:?}")),
        }
    }
}

fn parsed(host: &str) -> Result<String, String> {
    canonical_host(host).ok_or_else(|| {
        format!(
            "{host:?} is not a host, such as api.example.com or api.example.com:8443, as toolkits declare it"
        )
    })
}

impl FromStr for EgressPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut hosts = Hosts::default();
        let mut items = text.split(',').map(str::trim).filter(|item| !item.is_empty()).peekable();
        if items.peek().is_none() {
            return Err(
                "it names hosts; leave it out for no policy, or write [] in the file for no host".to_owned()
            );
        }
        items.try_for_each(|item| hosts.add_item(item))?;
        Ok(Self(Some(Box::new(hosts))))
    }
}

impl<'de> Deserialize<'de> for EgressPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListOrTable;

        impl<'de> de::Visitor<'de> for ListOrTable {
            type Value = EgressPolicy;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a list of hosts, or a table such as { everyone = [\"a.example\"], \"group:sales\" = [\"b.example\"] }")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<EgressPolicy, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<EgressPolicy, A::Error> {
                let mut hosts = Hosts::default();
                while let Some(item) = items.next_element::<String>()? {
                    hosts.add_item(&item).map_err(de::Error::custom)?;
                }
                Ok(EgressPolicy(Some(Box::new(hosts))))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut table: A) -> Result<EgressPolicy, A::Error> {
                let mut hosts = Hosts::default();
                while let Some((whom, names)) = table.next_entry::<String, Vec<String>>()? {
                    let of_them = hosts.of(&whom).map_err(de::Error::custom)?;
                    for name in names {
                        of_them.insert(parsed(&name).map_err(de::Error::custom)?);
                    }
                }
                Ok(EgressPolicy(Some(Box::new(hosts))))
            }
        }

        deserializer.deserialize_any(ListOrTable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct File {
        hosts: EgressPolicy,
    }

    fn file(text: &str) -> Result<EgressPolicy, String> {
        toml::from_str::<File>(&format!("hosts = {text}")).map(|file| file.hosts).map_err(|it| it.to_string())
    }

    #[test]
    fn a_list_a_table_and_a_flag_say_the_same() {
        let flag: EgressPolicy =
            "a.example, everyone=B.example.:8443,group:finance=bank.example".parse().unwrap();
        let list = file(r#"["a.example", "b.example:8443", "group:finance=bank.example"]"#).unwrap();
        let table =
            file(r#"{ everyone = ["a.example", "b.example:8443"], "group:finance" = ["bank.example"] }"#)
                .unwrap();

        assert_eq!(flag, list);
        assert_eq!(flag, table);
        assert_eq!(format!("{flag:?}"), format!("{table:?}"), "settings are compared as text");
        assert!(flag.policy().is_some() && EgressPolicy::default().policy().is_none());
    }

    #[test]
    fn an_empty_list_in_the_file_permits_nothing_and_an_empty_flag_is_refused() {
        for empty in ["[]", "{}", r#"{ "group:sales" = [] }"#] {
            assert!(file(empty).unwrap().policy().is_some(), "{empty}");
        }
        for empty in ["", " ", ","] {
            assert!(empty.parse::<EgressPolicy>().unwrap_err().contains("leave it out"), "{empty:?}");
        }
    }

    #[test]
    fn what_is_no_host_or_for_nobody_is_refused() {
        for wrong in [
            "*",
            "*.example.com",
            "https://a.example",
            "a.example/path",
            "group:=a.example",
            "sales=a.example",
            "user:ana=a.example",
            "group:sales=",
            "a.example:0",
        ] {
            assert!(wrong.parse::<EgressPolicy>().is_err(), "{wrong}");
            assert!(file(&format!("[{wrong:?}]")).is_err(), "{wrong}");
        }
        for wrong in
            [r#"{ sales = ["a.example"] }"#, r#"{ everyone = "a.example" }"#, r#"{ everyone = ["*"] }"#, "7"]
        {
            assert!(file(wrong).is_err(), "{wrong}");
        }
        // A name of a group may contain the separator of a flag's item.
        assert!(
            file(r#"{ "group:a=b" = ["a.example"] }"#).unwrap() == "group:a=b=a.example".parse().unwrap()
        );
    }
}
