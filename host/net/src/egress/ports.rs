//! The ports that files are captured from.
//!
//! A toolkit's ports are in its `egress` list, which an operator reviews; a capture's URL is written by
//! any user or toolkit. So captures may use only the ports that a browser would open, and below 1024
//! only 80 and 443: the other ports there belong to system services that serve no files.

/// The bad ports of the Fetch Standard (section "Port blocking") from 1024 up: their services may
/// interpret the lines of an HTTP request as commands.
const BAD_PORTS: [u16; 19] = [
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679,
    6697, 10080,
];

/// Whether a file may be captured from a server at this port.
pub(super) fn serves_files(port: u16) -> bool {
    matches!(port, 80 | 443 | 1024..) && !BAD_PORTS.contains(&port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_the_web_and_unprivileged_ones_serve_files() {
        for port in [80, 443, 1024, 3000, 5000, 8000, 8080, 8443, 8888, 9443, 18_999, 65_535] {
            assert!(serves_files(port), "{port} was refused");
        }
    }

    #[test]
    fn ports_of_other_services_do_not() {
        for port in [
            0, 1, 7, 21, 22, 23, 25, 53, 79, 81, 110, 143, 389, 442, 444, 445, 465, 514, 587, 636, 993, 995,
            1023, 1719, 1723, 2049, 4190, 5060, 5061, 6000, 6665, 6669, 6697, 10_080,
        ] {
            assert!(!serves_files(port), "{port} was permitted");
        }
    }
}
