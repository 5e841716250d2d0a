//! Runs a bundled module in the engine, on this machine, and prints its default export as JSON:
//!
//! ```sh
//! cargo run -p kitbag-engine --example run -- FILE.js
//! ```

use std::process::ExitCode;

use kitbag_engine::Engine;
use rquickjs::Function;

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: run FILE.js");
        return ExitCode::from(2);
    };
    let source = match std::fs::read_to_string(&file) {
        Ok(source) => source,
        Err(error) => {
            eprintln!("error: {file}: {error}");
            return ExitCode::from(2);
        }
    };
    let run = || {
        let engine = Engine::new()?;
        engine
            .with(|ctx| {
                let print = Function::new(ctx.clone(), |text: String| eprintln!("{text}"));
                print.and_then(|print| ctx.globals().set("print", print))
            })
            .map_err(|error| kitbag_engine::EngineError(error.to_string()))?;
        engine.evaluate(&file, &source)
    };
    match run() {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}", error.0);
            ExitCode::FAILURE
        }
    }
}
