//! The text of a binary presentation, with what `office_oxide` leaves out of it: tables, notes, and text of the outline
//! that no shape shows.

mod outline;

use std::collections::HashSet;

use extractor_text::Flow;
use office_oxide::ppt::{PptDocument, TextRun, TextType};

/// Returns the text of a presentation, of which `stream` has the records.
pub(crate) fn read(deck: &PptDocument, stream: &[u8]) -> Flow {
    let mut slides = Slides::default();
    for slide in &deck.slides {
        let (notes, shown): (Vec<_>, Vec<_>) =
            slide.text_runs.iter().partition(|run| run.text_type == TextType::Notes);
        slides.runs(shown);
        for row in slide.tables.iter().flat_map(|table| &table.rows) {
            slides.row(row);
        }
        slides.flow.paragraph();
        if !notes.is_empty() {
            slides.flow.push("[Notes]");
            slides.flow.line();
            slides.runs(notes);
            slides.flow.paragraph();
        }
    }
    slides.runs(&deck.master_text);
    slides.flow.paragraph();
    for text in outline::texts(stream) {
        slides.missing(&text);
    }
    slides.flow
}

#[derive(Default)]
struct Slides {
    flow: Flow,
    /// Lines that are in the text.
    seen: HashSet<String>,
}

impl Slides {
    fn runs<'r>(&mut self, runs: impl IntoIterator<Item = &'r TextRun>) {
        for run in runs {
            self.lines(&run.text, |_, _| true);
        }
    }

    fn row(&mut self, cells: &[Vec<TextRun>]) {
        if self.flow.is_full() {
            return;
        }
        for run in cells.iter().flatten() {
            self.seen.extend(lines(&run.text).map(str::to_owned));
            self.flow.push(&run.text);
            self.flow.tab();
        }
        self.flow.line();
    }

    /// Adds the lines of a text that no slide has.
    fn missing(&mut self, text: &str) {
        self.lines(text, |seen, line| !seen.contains(line));
    }

    fn lines(&mut self, text: &str, is_wanted: impl Fn(&HashSet<String>, &str) -> bool) {
        for line in lines(text) {
            if !self.flow.is_full() && is_wanted(&self.seen, line) {
                self.seen.insert(line.to_owned());
                self.flow.push(line);
                self.flow.line();
            }
        }
    }
}

/// The lines of a text of a presentation, in which a carriage return ends a paragraph and a vertical tab a line.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\r', '\n', '\u{B}']).map(str::trim).filter(|line| !line.is_empty())
}
