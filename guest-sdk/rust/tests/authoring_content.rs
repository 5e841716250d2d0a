//! The tool with content that docs/authoring.md shows under "In Rust". Checks that it compiles, and is identical to the
//! code there.

use kitbag_toolkit::prelude::*;

fn toolkit() -> Toolkit {
    Toolkit::new("charts", "Charts")
        .description("Draws charts.")
        .icon("📈")
        .version("1.0.0")
        .egress("charts.example")
        .tool(Tool::new("draw", draw).description("Draws a chart."))
}

// authoring.md
async fn draw(_: NoArgs, ctx: Ctx) -> Result<ToolResult> {
    let table = ctx.fetch("https://charts.example/week.csv").await?.text().await?;
    let picture = ctx.fetch("https://charts.example/week.png").await?.bytes().await?;

    Ok(ToolResult::new("A chart of this week.")
        .with(Content::image(picture, "image/png"))
        .with(EmbeddedResource::text("charts:week.csv", table).media_type("text/csv"))
        .with(ResourceLink::new("https://charts.example/", "charts").title("All charts")))
}

#[test]
fn a_chart_comes_with_its_table() {
    let call = Call::new("draw").fetch(|request| match request.url() {
        "https://charts.example/week.csv" => Response::new(200, "day,calls\nMonday,3\n"),
        _ => Response::new(200, *b"\x89PNG").with_header("content-type", "image/png"),
    });

    let outcome = dispatch(&toolkit(), call);

    let table = EmbeddedResource::text("charts:week.csv", "day,calls\nMonday,3\n").media_type("text/csv");
    let chart = ContentBlock::new(Content::image(*b"\x89PNG", "image/png"));
    assert_eq!(outcome.content()[..2], [chart, table.into()]);
}
// authoring.md

#[test]
fn the_documentation_has_this_tool() {
    let documentation = include_str!("../../../docs/authoring.md");
    let file = include_str!("authoring_content.rs");
    let code = file.split("// authoring.md\n").nth(1).expect("the code is marked");

    assert!(documentation.contains(code), "docs/authoring.md shows another tool than this file");
}
