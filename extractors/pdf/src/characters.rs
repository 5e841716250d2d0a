//! The characters that glyphs stand for.

use std::collections::HashMap;

use hayro_interpret::font::Glyph;
use hayro_interpret::hayro_cmap::BfString;
use skrifa::{FontRef, MetadataProvider};

/// The characters of the glyphs in embedded fonts, by the font's key.
#[derive(Default)]
pub(crate) struct Fonts(HashMap<u128, HashMap<u32, char>>);

impl Fonts {
    /// Returns the text of a glyph: what the file says, what the embedded font says, and otherwise the code itself where
    /// it is ASCII. `None` where nothing says it.
    pub(crate) fn text(&mut self, glyph: &Glyph<'_>) -> Option<String> {
        let text = match glyph.as_unicode() {
            Some(BfString::Char(character)) => Some(character.to_string()),
            Some(BfString::String(text)) => Some(text),
            None => None,
        };
        let is_told =
            |text: &String| text.chars().any(|it| !is_private(it) && it != char::REPLACEMENT_CHARACTER);
        // Fonts of symbols have their own characters from U+F000, and those of texts the codes of ASCII there.
        let symbol =
            text.as_ref().and_then(|text| text.chars().next()).filter(|it| is_private(*it)).map(u32::from);
        let is_symbol = symbol.is_some_and(|symbol| symbol & 0xFF != glyph.char_code());
        let text = text.filter(is_told).or_else(|| self.embedded(glyph).map(String::from));
        let text = text.or_else(|| {
            let code = char::from_u32(glyph.char_code()).filter(|_| !is_symbol);
            code.filter(|code| (' '..='~').contains(code)).map(String::from)
        });
        let text: String = text?.chars().filter(|it| !it.is_control() || it.is_whitespace()).collect();
        (!text.is_empty()).then_some(text)
    }

    fn embedded(&mut self, glyph: &Glyph<'_>) -> Option<char> {
        let Glyph::Outline(glyph) = glyph else { return None };
        let font = glyph.font_data()?;
        let characters = self.0.entry(font.cache_key).or_insert_with(|| {
            let Ok(font) = FontRef::new((*font.data).as_ref()) else { return HashMap::new() };
            let mappings = font.charmap().mappings();
            mappings.filter_map(|(code, id)| Some((id.to_u32(), char::from_u32(code)?))).collect()
        });
        characters.get(&glyph.glyph_id().to_u32()).copied().filter(|it| !is_private(*it))
    }
}

fn is_private(character: char) -> bool {
    matches!(character, '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..)
}
