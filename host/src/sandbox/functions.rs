//! A cache of machine code by function, for wasmtime's incremental compilation.
//!
//! Toolkits in TypeScript each contain the same JavaScript engine. wasmtime looks functions up by a hash of all
//! that their code depends on, so the engine is compiled once.
//!
//! Invariant: what is read here is executed. [`Functions`] on a disk are sealed like all other machine code.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use wasmtime::CacheStore;

/// Size of the header of each stored function: the lengths of key and code, and its age.
const HEADER_BYTES: usize = 12;
/// Maximum length of a key or a function; a longer one means that the file is damaged.
const MAX_PART_BYTES: usize = 64 << 20;

/// Machine code by function.
#[derive(Default)]
pub struct Functions {
    by_hash: HashMap<Vec<u8>, Function>,
    /// Cache misses.
    added: usize,
}

struct Function {
    code: Vec<u8>,
    /// Compilations since it was last used.
    age: u32,
}

impl Functions {
    /// Reads what [`write`](Self::write) wrote.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut by_hash = HashMap::new();
        while let Some([key, code, age]) = read_header(from)? {
            let key = read_exactly(from, key)?;
            let code = read_exactly(from, code)?;
            by_hash.insert(key, Function { code, age: age.saturating_add(1) });
        }
        Ok(Self { by_hash, added: 0 })
    }

    /// Writes at most `limit` bytes, most recently used functions first.
    pub fn write(&self, to: &mut impl Write, limit: usize) -> io::Result<()> {
        let mut functions: Vec<_> = self.by_hash.iter().collect();
        functions.sort_unstable_by_key(|(_, function)| function.age);
        let mut written = 0;
        for (key, Function { code, age }) in functions {
            written += HEADER_BYTES + key.len() + code.len();
            if written > limit {
                break;
            }
            for number in [length(key)?, length(code)?, *age] {
                to.write_all(&number.to_le_bytes())?;
            }
            to.write_all(key)?;
            to.write_all(code)?;
        }
        Ok(())
    }

    /// Whether functions were added since it was read.
    pub fn has_grown(&self) -> bool {
        self.added > 0
    }
}

/// The cache as the engine sees it; empty unless a compilation is under way.
#[derive(Default)]
pub(super) struct FunctionCache {
    functions: Mutex<Functions>,
}

impl FunctionCache {
    /// Compiles with `functions` as the cache, and adds to them.
    pub(super) fn with<R>(&self, functions: &mut Functions, compile: impl FnOnce() -> R) -> R {
        std::mem::swap(&mut *self.lock(), functions);
        let compiled = compile();
        std::mem::swap(&mut *self.lock(), functions);
        compiled
    }

    fn lock(&self) -> MutexGuard<'_, Functions> {
        self.functions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheStore for FunctionCache {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let mut functions = self.lock();
        let function = functions.by_hash.get_mut(key)?;
        function.age = 0;
        Some(Cow::Owned(function.code.clone()))
    }

    fn insert(&self, key: &[u8], value: Vec<u8>) -> bool {
        let mut functions = self.lock();
        functions.by_hash.insert(key.to_owned(), Function { code: value, age: 0 });
        functions.added += 1;
        true
    }
}

impl std::fmt::Debug for FunctionCache {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("FunctionCache").finish_non_exhaustive()
    }
}

/// Nothing at the end of the input.
fn read_header(from: &mut impl Read) -> io::Result<Option<[u32; 3]>> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    match from.take(HEADER_BYTES as u64).read_to_end(&mut header)? {
        0 => Ok(None),
        HEADER_BYTES => {
            let number = |place: usize| {
                u32::from_le_bytes(header[place..place + 4].try_into().expect("four bytes were taken"))
            };
            Ok(Some([number(0), number(4), number(8)]))
        }
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn read_exactly(from: &mut impl Read, length: u32) -> io::Result<Vec<u8>> {
    let length = length as usize;
    if length > MAX_PART_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no function is that long"));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn length(bytes: &[u8]) -> io::Result<u32> {
    u32::try_from(bytes.len()).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(functions: &Functions, limit: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        functions.write(&mut bytes, limit).expect("memory takes everything");
        bytes
    }

    fn read(bytes: &[u8]) -> io::Result<Functions> {
        Functions::read(&mut &bytes[..])
    }

    #[test]
    fn what_one_compilation_left_is_found_by_the_next() {
        let cache = FunctionCache::default();
        let mut functions = Functions::default();
        cache.with(&mut functions, || cache.insert(b"hash", b"code".to_vec()));
        assert!(functions.has_grown());

        let mut kept = read(&written(&functions, 1 << 20)).expect("it was just written");
        let found = cache.with(&mut kept, || cache.get(b"hash").map(Cow::into_owned));

        assert_eq!(found.as_deref(), Some(&b"code"[..]));
        assert!(!kept.has_grown());
        assert!(cache.get(b"hash").is_none(), "nothing is left in memory");
    }

    #[test]
    fn where_there_is_no_room_for_all_the_oldest_go() {
        let cache = FunctionCache::default();
        let mut functions = Functions::default();
        cache.with(&mut functions, || {
            cache.insert(b"old", vec![0; 100]);
            cache.insert(b"used", vec![0; 100]);
        });
        let mut functions = read(&written(&functions, 1 << 20)).expect("it was just written");
        cache.with(&mut functions, || cache.get(b"used").map(|_| ()));

        let kept = read(&written(&functions, 150)).expect("it was just written");

        assert!(kept.by_hash.contains_key(&b"used"[..]) && kept.by_hash.len() == 1);
    }

    #[test]
    fn what_is_cut_short_or_no_such_file_is_an_error() {
        let cache = FunctionCache::default();
        let mut functions = Functions::default();
        cache.with(&mut functions, || cache.insert(b"hash", b"code".to_vec()));
        let whole = written(&functions, 1 << 20);

        for end in 1..whole.len() {
            assert!(read(&whole[..end]).is_err(), "{end} bytes of {}", whole.len());
        }
        assert!(read(&[255; HEADER_BYTES]).is_err());
    }
}
