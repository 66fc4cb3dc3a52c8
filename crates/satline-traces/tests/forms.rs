//! What is read from text and from the compact form is the same; damage is told and never believed.

use std::io::Cursor;
use std::path::PathBuf;

use proptest::prelude::*;
use satline_program::Result;
use satline_traces::compact::{self, Head, Totals, Writer};
use satline_traces::formats::{self, Reading};
use satline_traces::{Builder, Sink, Trace};

#[derive(Default)]
struct Pages(Vec<u64>);

impl Sink for Pages {
    fn page(&mut self, page: u64) -> Result<()> {
        self.0.push(page);
        Ok(())
    }
}

fn head() -> Head {
    Head {
        page_bytes: 4096,
        source: String::from("pages"),
        command: Some(String::from("made")),
        ..Head::default()
    }
}

fn packed(pages: &[u64]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), PathBuf::from("made"), &head(), 3, None).unwrap();
    pages.iter().for_each(|&page| writer.page(page).unwrap());
    let (bytes, written) = writer.finish(&Totals::default()).unwrap();
    assert_eq!(bytes.len() as u64, written);
    bytes
}

fn read_text(
    name: &str,
    text: &str,
    page_bytes: u64,
    join: Option<bool>,
) -> Result<(Vec<u64>, formats::Found)> {
    let reading = Reading {
        source: "made",
        page_bytes,
        join,
    };
    let mut pages = Pages::default();
    let found = formats::read(
        Cursor::new(text),
        formats::find(name)?,
        &reading,
        &mut pages,
        &mut |_| (),
    )?;
    Ok((pages.0, found))
}

fn page_numbers() -> impl Strategy<Value = Vec<u64>> {
    let one = prop_oneof![4 => 0..40_u64, 2 => 0..5000_u64, 1 => 0..u64::MAX];
    prop::collection::vec(one, 1..2000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_compact_form_keeps_every_page_number(pages in page_numbers()) {
        let bytes = packed(&pages);
        let mut back = Pages::default();
        let ended = compact::open(&bytes[..], "made").unwrap().pages(&mut back, &mut |_| ()).unwrap();
        prop_assert_eq!(&back.0, &pages);
        prop_assert_eq!((ended.references, ended.tail), (pages.len() as u64, None));
        let mut builder = Builder::default();
        compact::open(&bytes[..], "made").unwrap().into_storage(&mut builder, &mut |_| ()).unwrap();
        prop_assert_eq!(builder.finish(), Trace::of(pages).unwrap());
    }

    #[test]
    fn text_and_compact_form_are_the_same_trace(pages in page_numbers()) {
        let text: String = pages.iter().map(|page| format!("{page}\n")).collect();
        prop_assert_eq!(&read_text("pages", &text, 4096, None).unwrap().0, &pages);
    }

    #[test]
    fn a_cut_file_gives_its_whole_blocks_and_tells_the_rest(pages in page_numbers(), cut in 0.0..1.0_f64) {
        let bytes = packed(&pages);
        let cut = &bytes[..(bytes.len() as f64 * cut) as usize];
        let Ok(opened) = compact::open(cut, "made") else { return Ok(()) };
        let mut back = Pages::default();
        let ended = opened.pages(&mut back, &mut |_| ()).unwrap();
        prop_assert!(pages.starts_with(&back.0));
        prop_assert!(ended.tail.is_some() && ended.totals.is_none());
    }

    #[test]
    fn a_changed_byte_is_never_believed(pages in page_numbers(), at in any::<prop::sample::Index>(), with in 1..=255_u8) {
        let mut bytes = packed(&pages);
        let at = at.index(bytes.len());
        bytes[at] ^= with;
        let Ok(opened) = compact::open(&bytes[..], "made") else { return Ok(()) };
        let mut back = Pages::default();
        match opened.pages(&mut back, &mut |_| ()) {
            Ok(ended) => {
                prop_assert!(ended.tail.is_some(), "the change at {} was not seen", at);
                prop_assert!(pages.starts_with(&back.0));
            }
            Err(error) => prop_assert_eq!(error.exit_code(), 2),
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "(I  |[ ]S |[0-9a-f,x.+ QRW\\[\\]\n-]){0,200}") {
        let _ = formats::guess(text.as_bytes());
        for format in formats::FORMATS {
            let _ = read_text(format.name, &text, 4096, None);
        }
    }
}

#[test]
fn many_blocks_and_their_damaged_tail() {
    // Far apart in a way that zstd cannot foresee: several blocks.
    let pages: Vec<u64> = (0..200_000_u64)
        .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20)
        .collect();
    let mut bytes = packed(&pages);
    let len = bytes.len();
    bytes[len * 2 / 3] ^= 1;
    let mut back = Pages::default();
    let ended = compact::open(&bytes[..], "made")
        .unwrap()
        .pages(&mut back, &mut |_| ())
        .unwrap();
    assert!(back.0.len() > 50_000 && pages.starts_with(&back.0));
    let tail = ended.tail.unwrap();
    assert_eq!(tail.what, "a block's sum is wrong");
    assert!(tail.bytes as usize >= len / 3, "{tail:?}");
}

#[test]
fn lackeys_references_are_joined_as_a_page_table_sees_them() {
    let text = "==1== Lackey\nI  00001000,3\nI  00001003,5\n S 00001ffe,4\n L 00003000,8\nI  00003008,1\n";
    let (pages, found) = read_text("lackey", text, 4096, None).unwrap();
    assert_eq!(pages, [1, 2, 3]);
    assert_eq!((found.lines, found.references, found.joined), (6, 6, true));
    assert_eq!(
        read_text("lackey", text, 4096, Some(false)).unwrap().0,
        [1, 1, 1, 2, 3, 3]
    );
    assert_eq!(read_text("lackey", text, 8192, None).unwrap().0, [0, 1]);
}

#[test]
fn an_incomplete_last_line_is_counted_and_a_wrong_one_refused() {
    let (pages, found) = read_text("lackey", "I  00001000,3\n S 0000", 4096, None).unwrap();
    assert_eq!((pages.as_slice(), found.tail_bytes), (&[1][..], 7));
    let error = read_text("lackey", "I  00001000,3\n\u{1b}[31m\nI  00001000,3\n", 4096, None).unwrap_err();
    assert!(
        error
            .message
            .starts_with("made: line 2 is not of lackey: \"\\u{1b}[31m\""),
        "{error}"
    );
    assert_eq!(error.exit_code(), 2);
    let error = read_text("pages", "# none\n\n", 4096, None).unwrap_err();
    assert_eq!(error.message, "made: no reference in 2 lines of pages");
    let endless = "1".repeat(100_000);
    let error = read_text("pages", &endless, 4096, None).unwrap_err();
    assert_eq!(error.message, "made: line 1 is longer than 65536 bytes");
}

#[test]
fn the_format_is_guessed_by_the_first_reference() {
    let cases = [
        ("==9== Lackey, an example\n==9==\nI  0401ab70,3\n", "lackey"),
        (" L 1ffeffe7e,8\n", "lackey"),
        (
            "  8,0    1       17     0.000123004   697  Q   R 223490 + 8 [sort]\n",
            "blkparse",
        ),
        ("0,20941264,8192,W,0.551706\n", "spc"),
        ("128166372003061629,hm,1,Read,2096128,4096,61415\n", "msr"),
        ("# pages\n17\n18\n", "pages"),
    ];
    for (text, name) in cases {
        assert_eq!(
            formats::guess(text.as_bytes()).map(|format| format.name),
            Some(name),
            "{text}"
        );
    }
    for text in ["", "hello\n", "\0\0\0\0", "1,2\n"] {
        assert!(formats::guess(text.as_bytes()).is_none(), "{text:?}");
    }
}

#[test]
fn a_request_over_several_pages_is_several_references() {
    let (pages, _) = read_text(
        "msr",
        "1,hm,0,Read,4095,4098,5\n1,hm,1,Read,0,512,5\n",
        4096,
        None,
    )
    .unwrap();
    assert_eq!(pages, [0, 1, 2, 1 << 52]);
}

#[test]
fn a_file_of_another_version_or_kind_is_refused() {
    for (bytes, what) in [
        (&b"SATL"[..], "ends in its head"),
        (b"something else, long enough", "does not begin"),
    ] {
        let error = compact::open(bytes, "made").err().unwrap();
        assert!(error.message.contains(what), "{error}");
    }
}
