//! Bytecode of scripts; rquickjs supports bytecode of modules only. The code of a module lives as long as its
//! context, the code of a script is freed with its functions.

#![expect(unsafe_code, reason = "rquickjs has no safe function for it")]

use std::ffi::CString;
use std::slice;

use rquickjs::{Ctx, Error, Exception, Result, Value, qjs};

/// Compiles a script in strict mode to bytecode of this exact engine. Drops the source, but stack traces keep line
/// numbers.
pub(crate) fn compile(ctx: &Ctx<'_>, name: &str, source: &str) -> Result<Vec<u8>> {
    let (Ok(name), Ok(terminated)) = (CString::new(name), CString::new(source)) else {
        return Err(Exception::throw_syntax(ctx, "a NUL character in the source"));
    };
    let raw = ctx.as_raw().as_ptr();
    let flags = qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_STRICT | qjs::JS_EVAL_FLAG_COMPILE_ONLY;
    // SAFETY: the source is followed by a NUL, as the function requires, and the returned value is owned.
    let script = unsafe {
        let length = source.len() as qjs::size_t;
        let flags = flags.cast_signed();
        Value::from_raw(ctx.clone(), qjs::JS_Eval(raw, terminated.as_ptr(), length, name.as_ptr(), flags))
    };
    if script.is_exception() {
        return Err(Error::Exception);
    }
    let flags = qjs::JS_WRITE_OBJ_BYTECODE | qjs::JS_WRITE_OBJ_STRIP_SOURCE;
    let mut length = 0;
    // SAFETY: the value is a compiled script. The buffer has `length` bytes, and is freed once.
    unsafe {
        let buffer = qjs::JS_WriteObject(raw, &raw mut length, script.as_raw(), flags.cast_signed());
        if buffer.is_null() {
            return Err(Error::Exception);
        }
        let length = usize::try_from(length).expect("the buffer is in memory");
        let bytecode = slice::from_raw_parts(buffer, length).to_vec();
        qjs::js_free(raw, buffer.cast());
        Ok(bytecode)
    }
}

/// Runs a compiled script and returns its value.
///
/// # Safety
/// The bytecode must come from [`compile`].
#[cfg(any(test, target_family = "wasm"))]
pub(crate) unsafe fn run<'js>(ctx: &Ctx<'js>, bytecode: &[u8]) -> Result<Value<'js>> {
    let raw = ctx.as_raw().as_ptr();
    let flags = qjs::JS_READ_OBJ_BYTECODE.cast_signed();
    // SAFETY: the bytecode is valid. `JS_EvalFunction` takes ownership of the script; its value is owned.
    let value = unsafe {
        let script = qjs::JS_ReadObject(raw, bytecode.as_ptr(), bytecode.len() as qjs::size_t, flags);
        if qjs::JS_IsException(script) {
            return Err(Error::Exception);
        }
        Value::from_raw(ctx.clone(), qjs::JS_EvalFunction(raw, script))
    };
    if value.is_exception() { Err(Error::Exception) } else { Ok(value) }
}

#[cfg(test)]
mod tests {
    use rquickjs::{Context, Function, Persistent, Runtime};

    use super::*;

    /// Runs a script, and returns the number of functions that remain while its value is still referenced.
    fn functions_left(source: &str) -> i64 {
        let runtime = Runtime::new().expect("a runtime");
        let context = Context::full(&runtime).expect("a context");
        let value = context.with(|ctx| {
            let bytecode = compile(&ctx, "test.js", source).expect("it compiles");
            // SAFETY: the bytecode comes from `compile`.
            let value: Function =
                unsafe { run(&ctx, &bytecode) }.and_then(|it| it.get()).expect("a function");
            assert_eq!(value.call::<_, i32>(()).ok(), Some(1));
            Persistent::save(&ctx, value)
        });
        let functions = runtime.memory_usage().js_func_count;
        drop(value);
        functions
    }

    #[test]
    fn functions_that_the_value_does_not_reach_are_freed() {
        let unused = "const unused = () => 2; const unusedToo = () => unused();";

        let lean = functions_left("(() => { const one = () => 1; return () => one(); })()");
        let full =
            functions_left(&format!("(() => {{ {unused} const one = () => 1; return () => one(); }})()"));

        assert_eq!((lean, full), (2, 2));
    }

    #[test]
    fn what_a_script_throws_is_an_exception() {
        let runtime = Runtime::new().expect("a runtime");
        let context = Context::full(&runtime).expect("a context");
        context.with(|ctx| {
            let bytecode = compile(&ctx, "test.js", "throw new TypeError('no')").expect("it compiles");
            // SAFETY: the bytecode comes from `compile`.
            let thrown = unsafe { run(&ctx, &bytecode) };

            assert!(matches!(thrown, Err(Error::Exception)));
            assert!(compile(&ctx, "test.js", "const = 1").is_err());
            assert!(compile(&ctx, "test.js", "'\0'").is_err());
        });
    }
}
