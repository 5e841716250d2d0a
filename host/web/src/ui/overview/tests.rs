use super::*;

/// `<script>`, a quote, and a character that reverses the writing direction.
const HOSTILE: &str = "\"><script>alert(1)</script>\u{202e}";

fn frame() -> Frame {
    Frame { user: "ana".to_owned(), is_operator: true, can_sign_out: false, section: Section::Operate }
}

fn overview(toolkits: usize, calls: u64) -> Overview {
    let figures = Figures { calls, p50: Some(Latency::AtMostMs(25)), ..Figures::default() };
    let interval = |hour: usize| IntervalFigures { from: format!("2026-01-31T{hour:02}:00:00Z"), figures };
    let toolkit = |nth: usize| ToolkitFigures {
        toolkit: format!("toolkit-{nth}"),
        name: HOSTILE.to_owned(),
        figures: Figures { failures: 1, ..figures },
        users: 1,
        waiting_consents: 2,
        component_bytes: (nth > 0).then_some(1_400_000),
        calls_by_interval: vec![calls; 24],
        failures_by_interval: vec![1; 24],
    };
    Overview {
        days: 1,
        from: "2026-01-31T00:00:00Z".to_owned(),
        interval_hours: 1,
        figures,
        users: 2,
        users_from: "2026-01-31T00:00:00Z".to_owned(),
        documents: 3,
        document_bytes: 1400,
        waiting_consents: 4,
        intervals: (0..24).map(interval).collect(),
        toolkits: (0..toolkits).map(toolkit).collect(),
    }
}

fn html(overview: &Overview, page: usize) -> String {
    OverviewPage::of(overview, page, frame()).render().expect("it is rendered")
}

#[test]
fn what_authors_write_stays_text() {
    let html = html(&overview(2, 5), 1);

    assert!(html.contains("2 consents waiting"), "{html}");
    assert!(!html.contains("<script>alert") && !html.contains('\u{202e}'), "{html}");
    assert!(html.contains("&#60;script&#62;alert(1)&#60;/script&#62;\\u{202e}"), "{html}");
    assert!(!html.contains("style="), "the policy refuses it");
}

#[test]
fn a_chart_has_a_title_and_a_description_and_the_figures_are_a_table_too() {
    let html = html(&overview(1, 1234), 1);

    for part in ["<title id=\"calls-name\">", "<desc id=\"calls-summary\">Most at 23:00: 1,234 calls."] {
        assert!(html.contains(part), "no {part}: {html}");
    }
    assert_eq!(html.matches("<tr><th scope=\"row\">").count(), 24, "{html}");
    assert!(
        html.contains("<tr><th scope=\"row\">23:00</th><td>1,234</td><td>0</td><td>0</td><td>25 ms</td>")
    );
}

#[test]
fn toolkits_come_on_pages() {
    let overview = overview(45, 5);

    for (page, rows, links) in [
        (1, 20, &["page=2\" rel=\"next\""][..]),
        (3, 5, &["page=2\" rel=\"prev\""]),
        (0, 20, &["page=2\" rel=\"next\""]),
        (usize::MAX, 5, &["page=2\" rel=\"prev\""]),
    ] {
        let html = html(&overview, page);
        assert_eq!(html.matches("data-label=\"calls\"").count(), rows, "{page}");
        assert_eq!(
            html.matches(" rel=\"").count()
                - html.matches("rel=\"stylesheet").count()
                - html.matches("rel=\"icon").count(),
            links.len()
        );
        assert!(links.iter().all(|link| html.contains(link)), "{page}: {html}");
    }
}

#[test]
fn a_page_of_twenty_busy_toolkits_stays_small() {
    let html = html(&overview(500, 1_000_000), 1);

    assert!(html.len() <= 40_000, "{} bytes", html.len());
}

#[test]
fn without_calls_the_page_says_so_and_shows_no_chart() {
    let mut overview = Overview { intervals: Vec::new(), ..overview(1, 0) };
    overview.figures = Figures::default();

    let html = html(&overview, 1);

    assert!(html.contains("No call in the last 24 hours."), "{html}");
    assert!(!html.contains("<desc"), "{html}");
    overview.toolkits.clear();
    assert!(html_of(&overview).contains("None is deployed."));
}

fn html_of(overview: &Overview) -> String {
    html(overview, 1)
}

#[test]
fn users_are_at_least_so_many_where_records_are_kept_for_a_shorter_time() {
    let all = html(&overview(1, 5), 1);
    assert!(all.contains("<dd>2</dd>"), "{all}");

    let some = html(
        &Overview { users_from: "2026-01-31T12:00:00Z".to_owned(), waiting_consents: 0, ..overview(1, 5) },
        1,
    );
    assert!(some.contains("<dd>2+</dd><dd class=\"meta\">at least; since 31 Jan 2026</dd>"), "{some}");
}

#[test]
fn a_part_is_told_in_percent() {
    let told =
        [(1, 3), (0, 0), (1, 100_000), (u64::MAX, u64::MAX)].map(|(part, whole)| percentage(part, whole));
    assert_eq!(told, ["33.3 %", "0.0 %", "under 0.1 %", "100.0 %"]);
}
