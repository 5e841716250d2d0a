//! Text extraction from Jupyter notebooks (JSON) and Office 2003 workbooks (a single XML document).

use kitbag_knowledge::{FailureKind, FileKind, MAX_TEXT_BYTES};

use crate::extractors::{Xorshift, installed};

/// Workbook in the XML Spreadsheet format of Office 2003.
const WORKBOOK: &str = "<?xml version=\"1.0\"?><?mso-application progid=\"Excel.Sheet\"?>\
    <Workbook xmlns=\"urn:schemas-microsoft-com:office:spreadsheet\" \
    xmlns:ss=\"urn:schemas-microsoft-com:office:spreadsheet\"><DocumentProperties><Title>Tide tables</Title>\
    </DocumentProperties><Styles><Style ss:ID=\"t\"><NumberFormat ss:Format=\"Short Time\"/></Style>\
    <Style ss:ID=\"h\"><NumberFormat ss:Format=\"[h]:mm\"/></Style><Style ss:ID=\"z\"><NumberFormat \
    ss:Format=\"00000\"/></Style><Style ss:ID=\"p\"><NumberFormat ss:Format=\"Percent\"/></Style></Styles>\
    <Worksheet ss:Name=\"Heights\"><Table><Row><Cell ss:HRef=\"https://tide.example/\"><Data \
    ss:Type=\"String\">Saint-Malo &amp; Brest</Data><Comment ss:Author=\"Ana\"><ss:Data>measured <b>twice</b></ss:Data>\
    </Comment></Cell><Cell><Data ss:Type=\"Number\">12.25</Data></Cell></Row><Row><Cell ss:StyleID=\"t\"><Data \
    ss:Type=\"DateTime\">1899-12-31T13:45:00.000</Data></Cell><Cell ss:StyleID=\"h\"><Data \
    ss:Type=\"DateTime\">1900-01-01T06:00:00.000</Data></Cell><Cell ss:StyleID=\"z\"><Data \
    ss:Type=\"Number\">1234</Data></Cell><Cell ss:StyleID=\"p\"><Data ss:Type=\"Number\">0.125</Data></Cell><Cell>\
    <Data ss:Type=\"DateTime\">2024-03-11T00:00:00.000</Data></Cell><Cell><Data ss:Type=\"Boolean\">1</Data></Cell>\
    </Row></Table></Worksheet><Worksheet ss:Name=\"Remarks\"/></Workbook>";

/// Jupyter notebook with an output of each type.
const NOTEBOOK: &str = r##"{"cells": [
    {"cell_type": "markdown", "metadata": {}, "source": ["Intro\n", "# Tides \u2014 a guide\n", "\n", "words"]},
    {"cell_type": "code", "source": "for x in y:\n    print(x)", "outputs": [
        {"output_type": "stream", "name": "stdout", "text": ["\u001b[31mred\u001b[0m line\n", "next\n"]},
        {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo=", "text/plain": ["<Figure>"]}},
        {"output_type": "execute_result", "data": {"text/html": "<p>One<p>Two", "application/json": {"a": [1]}}},
        {"output_type": "error", "ename": "TideError", "evalue": "late", "traceback": ["\u001b[0;31m----"]}]},
    {"cell_type": "raw", "source": []}],
    "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4}"##;

#[tokio::test]
async fn a_workbook_that_is_one_xml_document_is_read_as_it_is_shown() {
    let words = "Heights\n\nSaint-Malo & Brest (https://tide.example/) (measured twice)\t12.25\n\
                 13:45\t30:00\t01234\t12.50%\t2024-03-11\tTRUE\n\nRemarks";
    let utf16: Vec<_> = WORKBOOK.encode_utf16().flat_map(u16::to_le_bytes).collect();

    for file in [WORKBOOK.into(), utf16] {
        let read = installed().await.extract(FileKind::Office, file.into()).await.expect("a workbook");

        assert_eq!((read.title.as_deref(), read.text.as_str()), (Some("Tide tables"), words));
    }
}

#[tokio::test]
async fn a_notebook_is_read_with_its_output_and_without_its_pictures() {
    let old = r#"{"worksheets": [{"cells": [{"cell_type": "code", "input": ["a = 1"], "outputs": [{"text": 2, "png": "x"}]}]}]}"#;

    let read = installed().await.extract(FileKind::Office, NOTEBOOK.into()).await.expect("a notebook");

    assert_eq!(read.title.as_deref(), Some("Tides — a guide"));
    assert_eq!(
        read.text,
        "Intro\n# Tides — a guide\n\nwords\n\nfor x in y:\n    print(x)\n\nred line\nnext\n\n<Figure>\n\n\
         One\n\nTwo\n\nTideError: late"
    );
    let old = installed().await.extract(FileKind::Office, old.into()).await.expect("a notebook");
    assert_eq!(old.text, "a = 1");
    for damaged in ["{\"cells\": [", "{\"cells\": 1}", "{}"] {
        let error =
            installed().await.extract(FileKind::Office, damaged.into()).await.expect_err("no notebook");
        assert!(error.reason.starts_with("the document "), "{}", error.reason);
    }
}

#[tokio::test]
async fn however_a_notebook_or_workbook_is_built_it_ends_as_text_or_as_an_error() {
    let (brackets, long) = ("[".repeat(1 << 20), "word ".repeat(2 << 20));
    let deep = WORKBOOK.replace("<Row>", &"<Row><Cell>".repeat(100_000));
    let styles = WORKBOOK
        .replace("<Styles>", &"<Style ss:ID=\"x\"><NumberFormat ss:Format=\"0\"/></Style>".repeat(99_999));

    for file in [
        format!("{{\"cells\": {brackets}"),
        format!("{{\"other\": {brackets}"),
        format!("{{\"cells\": [{{\"cell_type\": \"markdown\", \"source\": \"# {long}\"}}]}}"),
        WORKBOOK.replace("12.25", &long),
        deep,
        styles,
    ] {
        if let Ok(read) = installed().await.extract(FileKind::Office, file.into()).await {
            assert!(read.text.len() <= MAX_TEXT_BYTES && (read.truncated || read.text.len() < 1 << 10));
        }
    }
}

#[tokio::test]
async fn no_mutation_of_a_notebook_or_workbook_harms_its_reader() {
    let files = [NOTEBOOK, WORKBOOK];
    let mut random = Xorshift(0x9E37_79B9_7F4A_7C15);

    for round in 0..200 {
        let mut file = files[round % files.len()].as_bytes().to_vec();
        for _ in 0..=round / 16 {
            let at = random.below(file.len());
            file[at] = random.byte();
        }
        if round % 5 == 0 {
            file.truncate(random.below(file.len()));
        }

        if let Err(error) = installed().await.extract(FileKind::Office, file.into()).await {
            assert_eq!(error.kind, FailureKind::Permanent, "{round}: {}", error.reason);
        }
    }
}
