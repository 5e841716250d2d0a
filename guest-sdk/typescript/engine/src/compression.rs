//! The module `kitbag:compression`: gzip (RFC 1952), zlib (RFC 1950) and DEFLATE (RFC 1951) by the crate
//! `flate2`.
//!
//! Decompressed data is returned on request in pieces of at most 64 KiB: a small input may decompress to more
//! than fits in memory.

use std::io::{BufRead, ErrorKind, Read, Write};

use flate2::bufread::GzDecoder;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use flate2::{Compression as Level, Decompress, FlushDecompress, Status};
use rquickjs::function::MutFn;
use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{Ctx, Exception, Function, Result, TypedArray};

use crate::values::{Text, read_bytes};

const PIECE_BYTES: usize = 64 * 1024;

/// The module `kitbag:compression`.
pub(crate) struct Compression;

impl ModuleDef for Compression {
    fn declare(declarations: &Declarations<'_>) -> Result<()> {
        declarations.declare("createCompressor")?;
        declarations.declare("createDecompressor")?;
        Ok(())
    }

    fn evaluate<'js>(ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        exports.export("createCompressor", Function::new(ctx.clone(), create_compressor)?)?;
        exports.export("createDecompressor", Function::new(ctx.clone(), create_decompressor)?)?;
        Ok(())
    }
}

/// Returns a function that compresses data piece by piece: `(input, last) => output`.
fn create_compressor<'js>(ctx: Ctx<'js>, format: Text) -> Result<Function<'js>> {
    let mut compressor = match format.0.as_str() {
        "gzip" => Compressor::Gzip(GzEncoder::new(Vec::new(), Level::default())),
        "deflate" => Compressor::Zlib(ZlibEncoder::new(Vec::new(), Level::default())),
        _ => Compressor::Deflate(DeflateEncoder::new(Vec::new(), Level::default())),
    };
    let step = move |ctx: Ctx<'js>, input: TypedArray<'js, u8>, last: bool| {
        let output = read_bytes(&ctx, &input, |input| compressor.step(input, last))?;
        TypedArray::new(ctx.clone(), output.map_err(|error| Exception::throw_type(&ctx, &error.to_string()))?)
    };
    Function::new(ctx.clone(), MutFn::from(step))
}

enum Compressor {
    Gzip(GzEncoder<Vec<u8>>),
    Zlib(ZlibEncoder<Vec<u8>>),
    Deflate(DeflateEncoder<Vec<u8>>),
}

impl Compressor {
    fn step(&mut self, input: &[u8], last: bool) -> std::io::Result<Vec<u8>> {
        match self {
            Self::Gzip(it) => it.write_all(input).and_then(|()| if last { it.try_finish() } else { Ok(()) }),
            Self::Zlib(it) => it.write_all(input).and_then(|()| if last { it.try_finish() } else { Ok(()) }),
            Self::Deflate(it) => {
                it.write_all(input).and_then(|()| if last { it.try_finish() } else { Ok(()) })
            }
        }?;
        Ok(std::mem::take(match self {
            Self::Gzip(it) => it.get_mut(),
            Self::Zlib(it) => it.get_mut(),
            Self::Deflate(it) => it.get_mut(),
        }))
    }
}

/// Returns a function that decompresses data: `(input, last) => output`. `input` is appended to the unread
/// input. The output `undefined` means that more input is needed or, after the last input, that there is no
/// more output.
fn create_decompressor<'js>(ctx: Ctx<'js>, format: Text) -> Result<Function<'js>> {
    let mut decompressor = match format.0.as_str() {
        "gzip" => Decompressor::Gzip(Box::new(GzDecoder::new(Input::default()))),
        format => Decompressor::Deflate {
            state: Decompress::new(format == "deflate"),
            input: Input::default(),
            ended: false,
        },
    };
    let step = move |ctx: Ctx<'js>, input: Option<TypedArray<'js, u8>>, last: bool| {
        let queue = decompressor.input();
        if let Some(input) = &input {
            let added = read_bytes(&ctx, input, |input| queue.add(input))?;
            added.map_err(|_| Exception::throw_range(&ctx, "the input is too large"))?;
        }
        queue.last |= last;
        let piece = decompressor.step().map_err(|reason| match reason {
            NO_MEMORY => Exception::throw_range(&ctx, reason),
            _ => Exception::throw_type(&ctx, reason),
        })?;
        piece.map(|piece| TypedArray::new(ctx.clone(), piece)).transpose()
    };
    Function::new(ctx.clone(), MutFn::from(step))
}

enum Decompressor {
    Gzip(Box<GzDecoder<Input>>),
    /// zlib, or raw DEFLATE without the header and checksum of zlib.
    Deflate {
        state: Decompress,
        input: Input,
        ended: bool,
    },
}

const NO_MEMORY: &str = "there is not enough memory for the decompressed data";
const CORRUPT: &str = "the compressed data is not valid";
const TRUNCATED: &str = "the compressed data ends too early";
const TRAILING: &str = "there is data after the end of the compressed data";

impl Decompressor {
    fn input(&mut self) -> &mut Input {
        match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Deflate { input, .. } => input,
        }
    }

    fn step(&mut self) -> std::result::Result<Option<Vec<u8>>, &'static str> {
        let mut piece = Vec::new();
        piece.try_reserve_exact(PIECE_BYTES).map_err(|_| NO_MEMORY)?;
        piece.resize(PIECE_BYTES, 0);
        let length = match self {
            Self::Gzip(decoder) => match decoder.read(&mut piece) {
                Ok(0) if decoder.get_ref().rest().is_empty() => 0,
                Ok(0) => return Err(TRAILING),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(TRUNCATED),
                Err(_) => return Err(CORRUPT),
            },
            Self::Deflate { state, input, ended } => {
                let read = state.total_in();
                let written = state.total_out();
                if !*ended {
                    let status = state.decompress(input.rest(), &mut piece, FlushDecompress::None);
                    *ended = status.map_err(|_| CORRUPT)? == Status::StreamEnd;
                    input.consume(
                        usize::try_from(state.total_in() - read).expect("read is at most the input's length"),
                    );
                }
                let length =
                    usize::try_from(state.total_out() - written).expect("written is at most a piece");
                match (length, *ended) {
                    (0, true) if !input.rest().is_empty() => return Err(TRAILING),
                    (0, false) if input.last => return Err(TRUNCATED),
                    _ => length,
                }
            }
        };
        piece.truncate(length);
        piece.shrink_to_fit();
        Ok((length > 0).then_some(piece))
    }
}

/// Buffer of unread input. The input ends when the buffer is empty and `last` is set; otherwise more may
/// follow.
#[derive(Default)]
struct Input {
    bytes: Vec<u8>,
    position: usize,
    last: bool,
}

impl Input {
    fn add(&mut self, more: &[u8]) -> std::result::Result<(), std::collections::TryReserveError> {
        self.bytes.drain(..self.position);
        self.position = 0;
        self.bytes.try_reserve(more.len())?;
        self.bytes.extend_from_slice(more);
        Ok(())
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.position..]
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.rest().is_empty() && !self.last {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(self.rest())
    }

    fn consume(&mut self, amount: usize) {
        self.position += amount;
    }
}
