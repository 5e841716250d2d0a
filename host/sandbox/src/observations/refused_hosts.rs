//! Hosts that a call asked for and that the operator does not permit to toolkits.

use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of hosts that are named to the caller.
const MAX_HOSTS: usize = 5;

/// Hosts of requests that the egress policy refused, in the order of the first requests. Clones share them.
///
/// All of them are declared by the toolkit: a request to any other host is refused before the policy is asked.
#[derive(Clone, Debug, Default)]
pub struct RefusedHosts(Arc<Mutex<Vec<String>>>);

impl RefusedHosts {
    /// Records a host, with its port unless the scheme implies it.
    pub fn record(&self, host: &str) {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() < MAX_HOSTS && !hosts.iter().any(|known| known == host) {
            hosts.push(host.to_owned());
        }
    }

    /// Returns a sentence for the caller that names the hosts; `None` if there are none.
    pub fn in_words(&self) -> Option<String> {
        let hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (its, hosts) = (if hosts.len() == 1 { "this host" } else { "these hosts" }, hosts.join(", "));
        (!hosts.is_empty()).then(|| {
            format!(
                "The tool asked for {hosts}, and the egress policy of this server does not permit {its} to toolkits, or not for you \
                 (setting egress-policy): ask your operator."
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_is_named_once_and_only_some_of_many() {
        let refused = RefusedHosts::default();
        assert_eq!(refused.in_words(), None);

        refused.record("a.example");
        refused.clone().record("a.example");
        let one = refused.in_words().unwrap();
        assert!(one.starts_with("The tool asked for a.example, and") && one.contains("this host"), "{one}");
        assert!(one.ends_with("(setting egress-policy): ask your operator."), "{one}");

        for number in 0..100 {
            refused.record(&format!("{number}.example"));
        }
        let many = refused.in_words().unwrap();
        assert!(many.contains("a.example, 0.example, 1.example, 2.example, 3.example, and"), "{many}");
    }
}
