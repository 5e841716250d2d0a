//! The module `kitbag:rules`: the rules and error texts of `kitbag-manifest` that handlers need in the sandbox. The
//! functions are those of `src/handler-rules.ts`, which tests use outside the sandbox.

use kitbag_manifest::mismatch::{self, Kind, MAX_REPORTED, Meant, Violation};
use kitbag_manifest::{egress, texts};
use rquickjs::convert::List;
use rquickjs::function::Func;
use rquickjs::module::{Declarations, Exports, ModuleDef};
use rquickjs::{Ctx, Exception, Object, Result};
use url::Url;

use crate::values::Text;

/// The module `kitbag:rules`.
pub(crate) struct Rules;

impl ModuleDef for Rules {
    fn declare(declarations: &Declarations<'_>) -> Result<()> {
        for name in ["allows", "entryFor", "text", "meant", "maxReported"] {
            declarations.declare(name)?;
        }
        Ok(())
    }

    fn evaluate<'js>(_ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        exports.export("allows", Func::from(allows))?;
        exports.export("entryFor", Func::from(entry_for))?;
        exports.export("text", Func::from(text))?;
        exports.export("meant", Func::from(meant))?;
        exports.export("maxReported", Func::from(|| MAX_REPORTED))?;
        Ok(())
    }
}

fn allows(ctx: Ctx<'_>, egress: Vec<Text>, url: Text) -> Result<bool> {
    Ok(egress::allows(&strings(egress), &parsed(&ctx, &url)?))
}

fn entry_for(ctx: Ctx<'_>, url: Text) -> Result<String> {
    Ok(egress::entry_for(&parsed(&ctx, &url)?))
}

fn text(ctx: Ctx<'_>, name: Text, parts: Vec<Text>) -> Result<String> {
    texts::by_name(&name.0, &strings(parts))
        .ok_or_else(|| Exception::throw_type(&ctx, "there is no such error text"))
}

/// Determines the branches that a value was meant for, from each branch's violations as pairs of depth and
/// kind. Returns an object with `branch` and `of`, with `discriminator`, or with `anyOf`.
fn meant(ctx: Ctx<'_>, branches: Vec<Vec<List<(usize, Text)>>>) -> Result<Object<'_>> {
    let violation =
        |List((depth, kind)): List<(usize, Text)>| Violation { depth, kind: Kind::named(&kind.0) };
    let branches: Vec<Vec<_>> =
        branches.into_iter().map(|branch| branch.into_iter().map(violation).collect()).collect();
    let answer = Object::new(ctx)?;
    match mismatch::meant(&branches) {
        Meant::Branch { index, of } => {
            answer.set("branch", index)?;
            answer.set("of", of)?;
        }
        Meant::Discriminator(indexes) => answer.set("discriminator", indexes)?,
        Meant::AnyOf(indexes) => answer.set("anyOf", indexes)?,
    }
    Ok(answer)
}

fn strings(list: Vec<Text>) -> Vec<String> {
    list.into_iter().map(|Text(text)| text).collect()
}

fn parsed(ctx: &Ctx<'_>, url: &Text) -> Result<Url> {
    Url::parse(&url.0).map_err(|_| Exception::throw_type(ctx, "Invalid URL"))
}
