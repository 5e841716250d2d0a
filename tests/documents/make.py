"""Writes the documents of this folder again, with the libraries in requirements.txt: `python make.py`."""

import datetime
import io
from pathlib import Path

import docx
import msoffcrypto.format.ooxml as ooxml
import openpyxl
import pptx
import xlwt
from ebooklib import epub
from odf import teletype
from odf.dc import Title
from odf.opendocument import OpenDocumentSpreadsheet, OpenDocumentText
from odf.table import Table, TableCell, TableRow
from odf.text import H, Note, NoteBody, NoteCitation, P

FOLDER = Path(__file__).parent


def make_docx() -> bytes:
    document = docx.Document()
    document.core_properties.title = "Tidal report"
    document.add_heading("Of tides", level=1)
    document.add_paragraph("The moon pulls the sea, twice a day.")
    table = document.add_table(rows=2, cols=2)
    for row, cells in enumerate([("Harbour", "Height"), ("Brest", "7 metres")]):
        for column, words in enumerate(cells):
            table.cell(row, column).text = words
    document.add_paragraph("After the table.")
    return saved(document)


def make_xlsx() -> bytes:
    book = openpyxl.Workbook()
    book.properties.title = "Tide tables"
    sheet = book.active
    sheet.title = "Heights"
    sheet.append(["Harbour", "Height", "Measured"])
    sheet.append(["Saint-Malo", 12.25, datetime.date(2024, 3, 11)])
    sheet.append(["Brest", 7, datetime.date(2024, 3, 12)])
    second = book.create_sheet("Remarks")
    second["XFD1048576"] = "the last cell of the sheet"
    return saved(book)


def make_pptx() -> bytes:
    slides = pptx.Presentation()
    slides.core_properties.title = "Tides, a talk"
    for title, words, notes in [("Spring tides", "Sun and moon in a line", "Mention the equinox"), ("Neap tides", "At right angles", "")]:
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = words
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    return saved(slides)


def make_epub() -> bytes:
    book = epub.EpubBook()
    book.set_identifier("tides")
    book.set_title("The book of tides")
    book.set_language("en")
    chapters = []
    for number, (title, words) in enumerate([("First", "The ebb comes first."), ("Second", "The flood comes after.")]):
        chapter = epub.EpubHtml(title=title, file_name=f"chapter {number}.xhtml")
        chapter.content = f"<h1>{title}</h1><p>{words}</p><script>never()</script>"
        book.add_item(chapter)
        chapters.append(chapter)
    book.toc = chapters
    book.add_item(epub.EpubNav())
    book.add_item(epub.EpubNcx())
    # Not the order of the files.
    book.spine = ["nav", chapters[1], chapters[0]]
    target = io.BytesIO()
    epub.write_epub(target, book)
    return target.getvalue()


def make_odt() -> bytes:
    document = OpenDocumentText()
    document.meta.addElement(Title(text="Notes on tides"))
    document.text.addElement(H(outlinelevel=1, text="Of currents"))
    paragraph = P(text="A current")
    note = Note(noteclass="footnote", id="n1")
    note.addElement(NoteCitation(text="1"))
    body = NoteBody()
    body.addElement(P(text="of water"))
    note.addElement(body)
    paragraph.addElement(note)
    teletype.addTextToElement(paragraph, " runs   along the coast.")
    document.text.addElement(paragraph)
    return saved(document)


def make_ods() -> bytes:
    document = OpenDocumentSpreadsheet()
    table = Table(name="Currents")
    for cells in [("Strait", "Knots"), ("Gibraltar", "3")]:
        row = TableRow()
        for words in cells:
            cell = TableCell(valuetype="string")
            cell.addElement(P(text=words))
            row.addElement(cell)
        # As spreadsheet programs write the rest of a row.
        row.addElement(TableCell(numbercolumnsrepeated=16382))
        table.addElement(row)
    document.spreadsheet.addElement(table)
    return saved(document)


def make_xls() -> bytes:
    book = xlwt.Workbook()
    sheet = book.add_sheet("Old heights")
    for column, value in enumerate(["Fundy", 16.3]):
        sheet.write(0, column, value)
    return saved(book)


def make_times() -> bytes:
    book = xlwt.Workbook()
    sheet = book.add_sheet("Times")
    for row, (value, code) in enumerate([
        (0.5729166666666666, "h:mm"),
        (1.25, "[h]:mm"),
        (1234, "00000"),
        (0.125, "0.0%"),
    ]):
        sheet.write(row, 0, value, xlwt.easyxf(num_format_str=code))
    return saved(book)


def make_secret() -> bytes:
    target = io.BytesIO()
    ooxml.OOXMLFile(io.BytesIO(make_docx())).encrypt("a password", target)
    return target.getvalue()


def saved(document) -> bytes:
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


for name, make in [
    ("report.docx", make_docx),
    ("tables.xlsx", make_xlsx),
    ("talk.pptx", make_pptx),
    ("book.epub", make_epub),
    ("notes.odt", make_odt),
    ("currents.ods", make_ods),
    ("old.xls", make_xls),
    ("times.xls", make_times),
    ("secret.docx", make_secret),
]:
    (FOLDER / name).write_bytes(make())
