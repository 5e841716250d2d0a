//! Displayed content of office documents that their files do not store as plain text: ruby, formatted
//! numbers.

use kitbag_knowledge::{FailureKind, FileKind};

use crate::extractors::{Xorshift, installed};
use crate::harness::archive::{self, docx, ods, xlsx, xlsx_of_numbers};
use crate::harness::presentation::ppt;
use crate::harness::workbook::xls;

/// Extracts the text of an office document.
async fn text(file: Vec<u8>) -> String {
    installed().await.extract(FileKind::Office, file.into()).await.expect("it can be read").text
}

#[tokio::test]
async fn words_with_ruby_are_in_their_sentence_and_their_readings_follow_it() {
    let ruby = |reading: &str, word: &str| {
        format!(
            "<w:ruby><w:rubyPr><w:rubyAlign w:val=\"center\"/></w:rubyPr><w:rt><w:r><w:t>{reading}</w:t></w:r></w:rt>\
             <w:rubyBase><w:r><w:t>{word}</w:t></w:r></w:rubyBase></w:ruby>"
        )
    };
    let (tokyo, kyoto) = (ruby("とうきょう", "東京"), ruby("きょうと", "京都 &amp; 大阪"));
    // Word writes `w:ruby` within a run, other programs beside runs.
    let within = format!(
        "<w:p><w:r>{tokyo}</w:r><w:r><w:t>と</w:t></w:r><w:r>{kyoto}</w:r></w:p><w:p><w:r><w:t>次</w:t></w:r></w:p>"
    );
    let beside = format!("<w:p>{tokyo}<w:r><w:t>に行く</w:t></w:r></w:p>");
    let damaged = "<w:p><w:r><w:ruby><w:rt><w:r><w:t>とう</w:t>";

    assert_eq!(text(docx("", &within)).await, "東京と京都 & 大阪 (とうきょう きょうと)\n次");
    assert_eq!(text(docx("", &beside)).await, "東京に行く (とうきょう)");
    assert!(!text(docx("", &format!("<w:p><w:r><w:t>words</w:t></w:r></w:p>{damaged}"))).await.is_empty());
}

#[tokio::test]
async fn numbers_of_a_sheet_are_read_as_they_are_shown() {
    let cells = [
        (0.572_916_666_666_666_6, "h:mm", "13:45"),
        (0.572_916_666_666_666_6, "h:mm:ss AM/PM", "13:45:00"),
        (0.999_999_9, "hh:mm:ss", "00:00:00"),
        (0.5, "yyyy-mm-dd hh:mm", "12:00"),
        (45_292.572_916_666_666, "yyyy-mm-dd hh:mm", "2024-01-01 13:45:00"),
        (45_292.0, "[$-407]d. mmmm yyyy;@", "2024-01-01"),
        (0.003_1, "mm:ss", "04:28"),
        (0.003_105_5, "mm:ss.0", "04:28.3"),
        (1.25, "[h]:mm", "30:00"),
        (-1.25, "[hh]:mm:ss", "-30:00:00"),
        (0.052_083_333_333, "[mm]", "75"),
        (1_234.0, "00000", "01234"),
        (-7.0, "000", "-007"),
        (1_234_567.0, "000", "1234567"),
        (123_456_789.0, "000-00-0000", "123-45-6789"),
        (5_551_234.0, "[<=9999999]###-####;(###) ###-####", "555-1234"),
        (8_005_551_234.0, "[<=9999999]###-####;(###) ###-####", "(800) 555-1234"),
        (7.25, "00.00", "07.25"),
        (0.125, "0.0%", "12.5%"),
        (1_234.5, "#,##0.00", "1,234.50"),
        (42.0, "\"no. \"0", "no. 42"),
        (0.5, "# ?/?", "0.5"),
        (2.25, "#\\ ??/16", "2.25"),
        (1_234.0, "00/0000", "00/1234"),
        (3.5, "General", "3.5"),
    ];

    for (number, format, shown) in cells {
        let text = text(xlsx_of_numbers(&[(number, format)], &[])).await;

        assert_eq!(text, format!("Sheet\n{shown}"), "{format}");
    }
    assert_eq!(text(archive::of_library("times.xls")).await, "Times\n13:45\n30:00\n01234\n12.5%");
}

#[tokio::test]
async fn however_a_number_format_is_built_it_shows_something_short() {
    let long = "0".repeat(1 << 20);

    for format in [
        "[", "\"", "\\", "_", "*", "[$", "0.", ".0.0", "[>", "[>=x]0", ";;;", "ä[ä]ä", "[hm]", "[s]", "h",
        &long,
    ] {
        let cells = [1.5, 1e300, -1e300, 0.0].map(|number| (number, format));
        let text = text(xlsx_of_numbers(&cells, &[])).await;

        assert!(text.starts_with("Sheet") && text.len() < 999, "{format}: {}", text.len());
    }
}

#[tokio::test]
async fn a_link_of_a_cell_tells_its_target() {
    let cells = [(1.0, "00"), (2.0, "00"), (3.0, "00")];
    let links = ["https://tide.example/table", "mailto:ana@a.example"];

    let linked = text(xlsx_of_numbers(&cells, &links)).await;

    assert_eq!(linked, "Sheet\n01 (https://tide.example/table)\n02 (mailto:ana@a.example)\n03");
}

#[tokio::test]
async fn a_link_that_is_a_formula_tells_its_target() {
    let formulas = [
        ("HYPERLINK(\"https://tide.example/table\",\"tides\")", "tides (https://tide.example/table)"),
        ("IF(B1,Hyperlink( \"https://tide.example/\"\"7\"\"\"),\"\")", "tides (https://tide.example/\"7\")"),
        ("HYPERLINK(\"#Sheet!A1\",\"tides\")", "tides"),
        ("HYPERLINK(\"https://tide.example/\"&B1,\"tides\")", "tides"),
        ("HYPERLINK(\"unclosed", "tides"),
    ];
    let escaped = formulas.map(|(formula, _)| formula.replace('&', "&amp;").replace('"', "&quot;"));
    let rows = escaped.iter().map(|it| format!("<row><c t=\"str\"><f>{it}</f><v>tides</v></c></row>"));
    let cells = escaped.iter().map(|it| {
        let formula = it.replace(',', ";");
        format!("<table:table-cell table:formula=\"of:={formula}\"><text:p>tides</text:p></table:table-cell>")
    });
    let data = "<Data ss:Type=\"String\">tides</Data>";
    let workbook = format!(
        "<Workbook xmlns=\"urn:schemas-microsoft-com:office:spreadsheet\"><Row><Cell ss:Formula=\"={}\">{data}</Cell></Row></Workbook>",
        escaped[0]
    );
    let shown = formulas.map(|(_, shown)| shown);

    assert_eq!(text(xlsx("", &rows.collect::<String>())).await, format!("Sheet\n{}", shown.join("\n")));
    assert_eq!(text(ods(&cells.collect::<String>())).await, shown.join("\t"));
    assert_eq!(text(workbook.into_bytes()).await, shown[0]);
}

#[tokio::test]
async fn a_binary_workbook_tells_targets_of_formulas_comments_without_an_author_and_a_title_of_east_asia() {
    let links = [("https://tide.example/table", "tides"), ("#Tides!A1", "above")];
    let (title, ..) = encoding_rs::GBK.encode("潮水的故事");

    let file = xls((936, &title), &links, (" ", "spring tides"));
    let signed = xls((1252, b"Tides"), &[], ("Ana", "spring tides"));

    let read = installed().await.extract(FileKind::Office, file.into()).await.expect("it can be read");
    assert_eq!(read.text, "Tides\ntides (https://tide.example/table)\nabove\nA1: spring tides");
    assert_eq!(read.title.as_deref(), Some("潮水的故事"));
    assert!(text(signed).await.ends_with("A1 (Ana): spring tides"));
}

#[tokio::test]
async fn a_cell_of_an_open_document_shows_its_value_or_its_link() {
    let cell = |value: &str, content: &str| format!("<table:table-cell {value}>{content}</table:table-cell>");
    let link = |target: &str, words: &str| {
        cell("", &format!("<text:p><text:a xlink:href=\"{target}\">{words}</text:a></text:p>"))
    };
    let cells = [
        cell("office:value-type=\"time\" office:time-value=\"PT13H45M00S\"", ""),
        cell("office:value-type=\"time\" office:time-value=\"PT30H00M05S\"", ""),
        cell("office:value-type=\"time\" office:time-value=\"P1Y\"", ""),
        cell("office:value-type=\"percentage\" office:value=\"0.07\"", ""),
        cell("office:value-type=\"percentage\" office:value=\"0.07\"", "<text:p>7 percent</text:p>"),
        cell("office:value=\"8\"", "<office:annotation><text:p>a comment</text:p></office:annotation>"),
        cell("", "<office:annotation><text:p>another</text:p></office:annotation><text:p>words</text:p>"),
        link("https://tide.example/table", "tides"),
        link("https://tide.example/", "tide.example"),
        link("#Sheet.A1", "above"),
    ];

    assert_eq!(
        text(ods(&cells.concat())).await,
        "13:45\t30:00:05\tP1Y\t7%\t7 percent\t8 (a comment)\t(another) words\ttides (https://tide.example/table)\ttide.example\tabove"
    );
}

#[tokio::test]
async fn what_all_slides_of_an_open_document_show_is_read_beside_comments_and_formulas() {
    let slide = "<presentation:footer-decl>every footer</presentation:footer-decl><draw:page><draw:frame><text:p>slide\
                 </text:p></draw:frame><office:annotation><dc:creator>Ana</dc:creator><text:p>a comment</text:p>\
                 </office:annotation><presentation:notes><text:p>a note</text:p></presentation:notes></draw:page>";
    let master = "<style:master-page><draw:frame presentation:class=\"title\"><text:p>Click to edit</text:p></draw:frame>\
                  <draw:frame><text:p>every slide</text:p></draw:frame></style:master-page>";
    let formula = "<math><semantics><mi>a</mi><annotation encoding=\"StarMath 5.0\">a over b</annotation></semantics></math>";

    let file =
        archive::of(&[("content.xml", slide), ("styles.xml", master), ("Object 1/content.xml", formula)]);

    assert_eq!(text(file).await, "every footer\n\nslide\n\n(a comment)\n\na note\n\na over b\n\nevery slide");
}

#[tokio::test]
async fn tables_and_the_outline_of_a_binary_presentation_are_read() {
    let file =
        ppt("Spring tides", &[["Harbour", "Height"], ["Brest", "7 m"]], &["Spring tides", "Only listed"]);

    assert_eq!(text(file).await, "Spring tides\nHarbour\tHeight\nBrest\t7 m\n\nOnly listed");
}

#[tokio::test]
async fn no_mutation_of_a_binary_file_harms_its_reader() {
    let table = [["Harbour", "Height"], ["Brest", "7 m"]];
    let files = [ppt("Spring tides", &table, &["Only listed"]), archive::of_library("times.xls")];
    let mut random = Xorshift(0x9E37_79B9_7F4A_7C15);

    for round in 0..200 {
        let mut file = files[round % files.len()].clone();
        for _ in 0..=round / 16 {
            let at = random.below(file.len());
            file[at] = random.byte();
        }

        if let Err(error) = installed().await.extract(FileKind::Office, file.into()).await {
            assert_eq!(error.kind, FailureKind::Permanent, "{round}: {}", error.reason);
        }
    }
}
