//! Short display name of a browser, from its `User-Agent` (RFC 9110, section 10.1.5).

/// Product tokens and names. Most browsers claim to be others too, so the order matters.
const PRODUCTS: [(&str, &str); 9] = [
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Version/", "Safari"),
];
/// Systems; here, too, the order matters.
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
];

/// Returns a name such as `Firefox 140 on Linux`; the text itself if nothing in it is known.
pub(in crate::ui) fn name(agent: &str) -> String {
    let product = PRODUCTS.iter().find_map(|(mark, name)| {
        let (_, version) = agent.split_once(mark)?;
        let major: String = version.chars().take_while(char::is_ascii_digit).take(4).collect();
        Some(format!("{name} {major}"))
    });
    let system = SYSTEMS.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name);
    match (product, system) {
        (Some(product), Some(system)) => format!("{} on {system}", product.trim_end()),
        _ if agent.is_empty() => "Unnamed browser".to_owned(),
        _ => agent.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_called_by_its_name_whatever_else_it_claims_to_be() {
        let webkit = "AppleWebKit/537.36 (KHTML, like Gecko)";
        for (agent, expected) in [
            (format!("Mozilla/5.0 (X11; Linux x86_64) {webkit} Chrome/148.0.0.0 Safari/537.36"), "Chrome 148 on Linux"),
            (
                format!("Mozilla/5.0 (Windows NT 10.0; Win64; x64) {webkit} Chrome/148.0.0.0 Safari/537.36 Edg/148.0"),
                "Edge 148 on Windows",
            ),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0".to_owned(), "Firefox 140 on Linux"),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1 Version/19.0 Safari/604.1"
                    .to_owned(),
                "Safari 19 on iPhone",
            ),
            (format!("Mozilla/5.0 (Linux; Android 16) {webkit} Chrome/148.0 Mobile Safari/537.36"), "Chrome 148 on Android"),
            ("Test Browser".to_owned(), "Test Browser"),
            ("Chrome/ on a toaster".to_owned(), "Chrome/ on a toaster"),
            (String::new(), "Unnamed browser"),
        ] {
            assert_eq!(name(&agent), expected, "{agent}");
        }
    }
}
