//! Icons: an accepted picture is what its first bytes say, and small.

use kitbag::fuzzing::toolkits::picture as read;

const MAX_SIDE: u32 = 1024;

/// Input: the bytes of a file.
///
/// Checks the type of an accepted picture against its first bytes, and its width and height as they stand in a PNG or GIF.
pub fn picture(data: &[u8]) {
    let Some(media_type) = read(data.to_vec()) else { return };
    let number = |at: usize, length: usize| data.get(at..at + length).expect("the header is there");
    let sides: [u32; 2] = match media_type.as_str() {
        "image/png" => {
            assert!(data.starts_with(b"\x89PNG\r\n\x1a\n"));
            [16, 20].map(|at| u32::from_be_bytes(number(at, 4).try_into().expect("four bytes")))
        }
        "image/gif" => {
            assert!(data.starts_with(b"GIF8"));
            [6, 8].map(|at| u16::from_le_bytes(number(at, 2).try_into().expect("two bytes")).into())
        }
        "image/jpeg" => {
            assert!(data.starts_with(b"\xff\xd8\xff"));
            [0, 0]
        }
        "image/webp" => {
            assert!(data.starts_with(b"RIFF") && data.get(8..12) == Some(b"WEBP"));
            [0, 0]
        }
        other => panic!("{other} is no type of a picture"),
    };
    assert!(sides.into_iter().all(|side| side <= MAX_SIDE), "{sides:?}");
}
