//! Tables written, and what of them is read back.

use std::fs::File;

use columnar::{Columns, Format, Options, Table, encode, write};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// A row of every kind of cell.
type Row = (Option<u64>, Option<f64>, Option<&'static str>);

const ROWS: [Row; 3] =
    [(Some(7), Some(0.1), Some("a")), (None, None, None), (Some(u64::MAX), Some(-1.5), Some(""))];

fn table(rows: &[Row]) -> Table {
    let columns = Columns::of(rows)
        .number("number", |row| row.0)
        .seed("seed", |row| row.0)
        .float("float", |row| row.1)
        .text("text", |row| row.2);
    Table { name: "all", batch: columns.batch() }.with_note("about", "a test")
}

fn read(path: &std::path::Path) -> (Vec<Vec<Field>>, Option<String>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let notes = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let note = notes.iter().find(|note| note.key == "about").unwrap().value.clone();
    let rows = reader.get_row_iter(None).unwrap();
    let cells = |row: parquet::record::Row| row.into_columns().into_iter().map(|(_, cell)| cell);
    (rows.map(|row| cells(row.unwrap()).collect()).collect(), note)
}

#[test]
fn parquet_reads_back_every_cell_and_the_note() {
    let folder = tempfile::tempdir().unwrap();
    for differences in [false, true] {
        let path = folder.path().join("all.parquet");
        let batch = table(&ROWS).batch;
        let batches = [batch.slice(0, 2), batch.slice(2, 1)];
        let options = Options { differences };
        write(&path, Format::Parquet, options, batch.schema(), batches.into_iter()).unwrap();
        let (rows, note) = read(&path);
        let word = |word: &str| Field::Str(word.to_string());
        assert_eq!(rows[0], [Field::Long(7), Field::ULong(7), Field::Double(0.1), word("a")]);
        assert_eq!(rows[1], [Field::Null, Field::Null, Field::Null, Field::Null]);
        let above = "a number that a signed column cannot hold is null";
        let last = [Field::Null, Field::ULong(u64::MAX), Field::Double(-1.5), word("")];
        assert_eq!(rows[2], last, "{above}");
        assert_eq!(note.as_deref(), Some("a test"));
    }
}

#[test]
fn equal_rows_are_equal_bytes_in_both_formats() {
    for format in [Format::Parquet, Format::Arrow] {
        let bytes = |rows: &[Row]| encode(&table(rows).batch, format);
        assert_eq!(bytes(&ROWS), bytes(&ROWS));
        assert_ne!(bytes(&ROWS), bytes(&ROWS[..2]));
    }
    assert!(encode(&table(&ROWS).batch, Format::Parquet).starts_with(b"PAR1"));
    assert!(encode(&table(&ROWS).batch, Format::Arrow).starts_with(b"ARROW1"));
}

#[test]
fn comma_separated_text_has_every_cell() {
    let text = String::from_utf8(encode(&table(&ROWS).batch, Format::Csv)).unwrap();
    let lines = ["number,seed,float,text", "7,7,0.1,a", ",,,", ",18446744073709551615,-1.5,"];
    assert_eq!(text, lines.join("\n") + "\n");
    let quoted = table(&[(None, None, Some("a, \"b\""))]);
    let text = String::from_utf8(encode(&quoted.batch, Format::Csv)).unwrap();
    assert!(text.ends_with(",,,\"a, \"\"b\"\"\"\n"), "{text}");
}

/// A table that stood there is whole, or replaced by a whole one; a link is not followed.
#[test]
fn a_table_is_whole_and_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let [victim, path] = ["victim", "all.csv"].map(|name| folder.path().join(name));
    std::fs::write(&victim, "kept").unwrap();
    std::os::unix::fs::symlink(&victim, &path).unwrap();
    let batch = table(&ROWS).batch;
    let rows = std::iter::once(batch.clone());
    write(&path, Format::Csv, Options::default(), batch.schema(), rows).unwrap();
    let first = std::fs::read(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "kept");
    assert!(std::fs::symlink_metadata(&path).unwrap().is_file());
    // The second batch has other columns, so the writer stops behind the first.
    let other = Columns::of(&ROWS[..]).number("number", |row| row.0).batch();
    let rows = [batch.slice(0, 1), other].into_iter();
    write(&path, Format::Parquet, Options::default(), batch.schema(), rows).unwrap_err();
    assert_eq!(std::fs::read(&path).unwrap(), first, "it is as it was");
}
