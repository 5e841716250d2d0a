//! What the pages of a file ask the interpreter to do, counted before it does it.
//!
//! A page draws forms, and forms draw forms: twelve of them that each draw the next one ten times are three kilobytes,
//! and a million million drawings. The interpreter limits their depth and not their number. It also unpacks a form, a mask
//! or a shading each time that it is named. So the work of a page is the sum of all that it names, each as often as it
//! is named, whose sum costs one visit to each form and depth.
//!
//! Invariant: the work of a file is in proportion to its length.

use std::collections::HashMap;
use std::rc::Rc;

use hayro_interpret::hayro_syntax::content::UntypedIter;
use hayro_interpret::hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Stream};
use hayro_interpret::hayro_syntax::page::{Page, Resources};

/// Work of any file: bytes of content, each as often as it is interpreted, and what is named in it.
const BASE_WORK: u64 = 32 << 20;
/// Work for each byte of a file. Content is seldom packed to less than a twentieth.
const WORK_FOR_BYTE: u64 = 128;
/// Maximum work of a file, which takes about half a minute.
const MAX_WORK: u64 = 512 << 20;
/// Work of anything that content names, and of a form that it draws, besides what is in it.
const NAME_WORK: u64 = 32;
const FORM_WORK: u64 = 512;
/// Bytes of a definition that are parsed each time that it is named, for one unit of work.
const PARSED_BYTES: u64 = 4;
/// Bytes among which the end of a stream is searched, for one unit of work.
const SEARCHED_BYTES: u64 = 64;
/// Maximum number of masks, functions and shadings of a file that are looked into.
const MAX_DEFINITIONS: usize = 100_000;
/// Depth to which functions in functions are looked into.
const MAX_DEFINITION_DEPTH: usize = 8;
/// Work of each byte of a text that is shown.
const LETTER_WORK: u64 = 8;
/// Depth at which the interpreter draws no further form.
const MAX_DEPTH: usize = 50;

/// Work that may still be done, and what is known of the file's content.
pub(crate) struct Budget<'a> {
    left: u64,
    contents: HashMap<Key, Rc<Content<'a>>>,
    /// Work of a form at a depth, with the forms in it.
    works: HashMap<(Key, usize), u64>,
    lengths: HashMap<ObjectIdentifier, u64>,
    /// Definitions that may still be looked into.
    definitions: usize,
}

/// How a page may be interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// Neither forms nor annotations, which may draw forms.
    WithoutForms,
    Nothing,
}

/// A stream of content, and whose resources it uses.
type Key = (ObjectIdentifier, ObjectIdentifier);

/// A stream of content.
struct Content<'a> {
    /// Work of the content without the forms that it draws.
    work: u64,
    /// Forms that it draws, and how often.
    forms: Vec<(Stream<'a>, u64)>,
    resources: Resources<'a>,
    /// The page or form whose resources it uses.
    owner: ObjectIdentifier,
}

impl<'a> Budget<'a> {
    /// Creates the budget of a file of this many bytes.
    pub(crate) fn of(bytes: usize) -> Self {
        let left = BASE_WORK.saturating_add(WORK_FOR_BYTE.saturating_mul(bytes as u64)).min(MAX_WORK);
        let contents = HashMap::new();
        let works = HashMap::new();
        let lengths = HashMap::new();
        Self { left, contents, works, lengths, definitions: MAX_DEFINITIONS }
    }

    /// Takes the work of a page, as far as there is enough for it.
    pub(crate) fn take(&mut self, page: &Page<'a>, number: usize) -> Extent {
        // No object of the file has this number.
        let owner = ObjectIdentifier::new(0, i32::try_from(number).unwrap_or(i32::MAX));
        let content = self.read(page.page_stream().unwrap_or_default(), page.resources(), owner);
        let own = content.work;
        let whole = self.with_forms(&content, 0).saturating_add(self.annotations(page, owner));
        let (extent, work) = match self.left {
            left if whole <= left => (Extent::Whole, whole),
            left if own <= left => (Extent::WithoutForms, own),
            _ => (Extent::Nothing, self.left),
        };
        self.left -= work;
        extent
    }

    /// Work of the appearances of annotations.
    fn annotations(&mut self, page: &Page<'a>, owner: ObjectIdentifier) -> u64 {
        let Some(annotations) = page.raw().get::<Array<'a>>(b"Annots".as_slice()) else { return 0 };
        let mut work = 0_u64;
        for annotation in annotations.iter::<Dict<'a>>() {
            let appearance = annotation.get::<Dict<'a>>(b"AP".as_slice());
            let forms: Vec<Stream<'a>> = match appearance.and_then(|it| it.get::<Object<'a>>(b"N".as_slice()))
            {
                Some(Object::Stream(form)) => vec![form],
                // One of them is drawn.
                Some(Object::Dict(states)) => {
                    states.keys().filter_map(|state| states.get::<Stream<'a>>(state)).collect()
                }
                _ => Vec::new(),
            };
            let works = forms.iter().map(|form| self.form(form, page.resources(), owner, 1));
            work = work.saturating_add(FORM_WORK + works.max().unwrap_or_default());
        }
        work
    }

    /// Work of a form at a depth, with the resources of what draws it if it has none.
    fn form(
        &mut self,
        form: &Stream<'a>,
        around: &Resources<'a>,
        owner: ObjectIdentifier,
        depth: usize,
    ) -> u64 {
        if depth > MAX_DEPTH {
            return 0;
        }
        let id = form.obj_id();
        let own = form.dict().get::<Dict<'a>>(b"Resources".as_slice());
        let key = (id, if own.is_some() { id } else { owner });
        if let Some(work) = self.works.get(&(key, depth)) {
            return *work;
        }
        let content = match self.contents.get(&key) {
            Some(content) => content.clone(),
            None => {
                let data = form.decoded_data().unwrap_or_default();
                let resources = own.map_or_else(|| around.clone(), Resources::new);
                let content = Rc::new(self.read(&data, &resources, key.1));
                self.contents.insert(key, content.clone());
                content
            }
        };
        let work = self.with_forms(&content, depth).saturating_add(FORM_WORK);
        self.works.insert((key, depth), work);
        work
    }

    fn with_forms(&mut self, content: &Content<'a>, depth: usize) -> u64 {
        let Content { work, forms, resources, owner } = content;
        forms.iter().fold(*work, |sum, (form, times)| {
            sum.saturating_add(self.form(form, resources, *owner, depth + 1).saturating_mul(*times))
        })
    }

    /// Reads which resources a content names, and how often.
    fn read(&mut self, data: &[u8], resources: &Resources<'a>, owner: ObjectIdentifier) -> Content<'a> {
        let mut named: HashMap<(&[u8], Vec<u8>), u64> = HashMap::new();
        let mut letters = 0_u64;
        let mut instructions = UntypedIter::new(data);
        while let Some(instruction) = instructions.next() {
            if SHOWING.iter().any(|it| **it == **instruction.operator) {
                letters += instruction.operands().map(|operand| shown(&operand)).sum::<u64>();
            }
            let Some(operator) = NAMING.iter().find(|it| ***it == **instruction.operator) else { continue };
            for operand in instruction.operands() {
                if let Object::Name(name) = operand {
                    *named.entry((*operator, name.as_ref().to_vec())).or_default() += 1;
                }
            }
        }
        let mut work = data.len() as u64 + LETTER_WORK * letters;
        let mut forms = Vec::new();
        for ((operator, name), times) in named {
            let object = table(resources, operator).get::<Object<'a>>(name.as_slice());
            let each = object.map_or(NAME_WORK, |object| match object {
                Object::Stream(form) if operator == b"Do" && is_form(&form) => {
                    forms.push((form, times));
                    NAME_WORK
                }
                object => NAME_WORK + self.definition(&object, operator),
            });
            work = work.saturating_add(each.saturating_mul(times));
        }
        Content { work, forms, resources: resources.clone(), owner }
    }

    /// Work of a resource each time that it is named: what is parsed of it, and the streams that are unpacked.
    fn definition(&mut self, object: &Object<'a>, operator: &[u8]) -> u64 {
        let parsed = |bytes: &[u8]| bytes.len() as u64 / PARSED_BYTES;
        let own = match object {
            // The end of a stream is searched if it is not where its length says.
            Object::Stream(stream) => {
                parsed(stream.dict().data()) + stream.raw_data().len() as u64 / SEARCHED_BYTES
            }
            Object::Array(array) => parsed(array.data()),
            Object::Dict(dict) => parsed(dict.data()),
            _ => 0,
        };
        let unpacked = match (operator, object) {
            (b"sh", object) => self.unpacked(object, 0),
            (b"gs" | b"scn" | b"SCN", Object::Dict(dict)) => self.unpacked_of(dict, 0),
            _ => 0,
        };
        own.saturating_add(unpacked)
    }

    /// Length of the streams of a mask, a function or a shading.
    fn unpacked(&mut self, object: &Object<'a>, depth: usize) -> u64 {
        if self.definitions == 0 {
            return MAX_WORK;
        }
        self.definitions -= 1;
        match object {
            Object::Stream(stream) => {
                self.length(stream).saturating_add(self.unpacked_of(stream.dict(), depth))
            }
            Object::Dict(dict) => self.unpacked_of(dict, depth),
            Object::Array(array) => {
                let objects = array.iter::<Object<'a>>();
                objects.fold(0_u64, |sum, object| sum.saturating_add(self.unpacked(&object, depth + 1)))
            }
            _ => 0,
        }
    }

    fn unpacked_of(&mut self, dict: &Dict<'a>, depth: usize) -> u64 {
        if depth > MAX_DEFINITION_DEPTH {
            return 0;
        }
        UNPACKED.iter().fold(0_u64, |sum, key| {
            let object = dict.get::<Object<'a>>(*key);
            sum.saturating_add(object.map_or(0, |object| self.unpacked(&object, depth + 1)))
        })
    }

    /// Length of a stream when unpacked.
    fn length(&mut self, stream: &Stream<'a>) -> u64 {
        let unpacked = || stream.decoded_data().map_or(0, |data| data.len() as u64);
        *self.lengths.entry(stream.obj_id()).or_insert_with(unpacked)
    }
}

/// Operators that name a resource (ISO 32000-2, table A.1).
const NAMING: [&[u8]; 9] = [b"Do", b"gs", b"sh", b"scn", b"SCN", b"cs", b"CS", b"Tf", b"BDC"];

/// Operators that show text.
const SHOWING: [&[u8]; 4] = [b"Tj", b"TJ", b"'", b"\""];

/// Bytes of text in an operand.
fn shown(operand: &Object<'_>) -> u64 {
    match operand {
        Object::String(text) => text.as_bytes().len() as u64,
        Object::Array(array) => array.iter::<Object<'_>>().map(|item| shown(&item)).sum(),
        _ => 0,
    }
}

/// Entries of graphics states, patterns and shadings with streams that are unpacked.
const UNPACKED: [&[u8]; 7] = [b"SMask", b"G", b"TR", b"TR2", b"Shading", b"Function", b"Functions"];

/// The table in which an operator finds what it names.
fn table<'r, 'a>(resources: &'r Resources<'a>, operator: &[u8]) -> &'r Dict<'a> {
    match operator {
        b"Do" => &resources.x_objects,
        b"gs" => &resources.ext_g_states,
        b"sh" => &resources.shadings,
        b"scn" | b"SCN" => &resources.patterns,
        b"cs" | b"CS" => &resources.color_spaces,
        b"BDC" => &resources.properties,
        _ => &resources.fonts,
    }
}

fn is_form(stream: &Stream<'_>) -> bool {
    stream.dict().get::<Name<'_>>(b"Subtype".as_slice()).is_some_and(|name| name.as_ref() == b"Form")
}
