//! Forms with a file.

use kitbag::fuzzing::web::{Upload, upload as read};

const MAX_FIELDS: usize = 20;

/// Input: a byte that says where the body is divided, and the body of a form with the boundary `X`.
///
/// Checks that fields and file are parts of the body, however it arrives, that there are few fields, and that the name of
/// the file has no folder.
pub fn upload(data: &[u8]) {
    let Some((at, body)) = data.split_first() else { return };
    let (first, rest) = body.split_at(usize::from(*at).min(body.len()));
    for (first, rest) in [(first, rest), (body, &[][..])] {
        if let Some(upload) = read(first, rest) {
            check(body, &upload);
        }
    }
}

fn check(body: &[u8], upload: &Upload) {
    let is_part = |bytes: &[u8]| bytes.is_empty() || body.windows(bytes.len()).any(|part| part == bytes);
    assert!(upload.fields.len() <= MAX_FIELDS, "there are {} fields", upload.fields.len());
    assert!(upload.fields.iter().all(|(_, value)| is_part(value.as_bytes())), "{upload:?}");
    let Some((name, content)) = &upload.file else { return };
    assert!(!name.is_empty() && !name.contains(['/', '\\']), "{name:?}");
    assert!(content.as_deref().is_none_or(is_part), "{upload:?}");
}
