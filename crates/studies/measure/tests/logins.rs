//! What connections begin with: who asks, and for which database.

use generator::{Greeted, Protocol};
use measure::{Secret, Target};
use proptest::prelude::*;

fn protocol(target: &str) -> Box<dyn Protocol> {
    Target::parse(target, None).expect(target).protocol()
}

/// What a connection says first, and what comes of the server's words.
fn greeted(target: &str, words: &[u8]) -> (String, Greeted) {
    let mut greeting = protocol(target).greeting().expect("a greeting");
    let mut said = Vec::new();
    assert_eq!(greeting.go_on(b"", &mut said), Greeted::Waits(0));
    let greeted = greeting.go_on(words, &mut said);
    (String::from_utf8(said).expect("UTF-8"), greeted)
}

#[test]
fn redis_says_who_asks_and_for_which_database() {
    let auth = "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$3\r\np:w\r\n";
    let select = "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n";
    let both = "redis://me:p%3aw@127.0.0.1/3";
    assert_eq!(greeted(both, b"+OK\r\n+OK\r\n"), (format!("{auth}{select}"), Greeted::Done));
    assert_eq!(greeted("redis+unix:///x?db=3", b"+OK\r\n"), (select.to_string(), Greeted::Done));
    let password = "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n";
    let refused = |words: &str| Greeted::Refused(words.to_string());
    assert_eq!(
        greeted("redis://:pw@127.0.0.1", b"-WRONGPASS pw is\x1b[2J wrong\r\n"),
        (password.to_string(), refused("WRONGPASS *** is [2J wrong"))
    );
    let good = b"+OK\r\n+OK\r\n";
    assert!((0..good.len()).all(|cut| greeted(both, &good[..cut]).1 == Greeted::Waits(0)));
    assert_eq!(greeted(both, b"HTTP/1.1 400\r\n").1, Greeted::Garbage);
    assert_eq!(greeted(both, b"+OK\r\n+OK\r\n+").1, Greeted::Garbage, "more than was asked");
    // The control.
    assert!(protocol("redis://127.0.0.1/0").greeting().is_none());
}

#[test]
fn postgresql_says_who_asks() {
    let ok = message(b'R', &[0; 4]);
    let rest = [message(b'S', b"a\0b\0"), message(b'K', &[0; 8]), message(b'Z', b"I")].concat();
    let hello = b"user\0me\0database\0d b\0application_name\0rearguard\0\0";
    let mut startup = vec![0, 0, 0, (8 + hello.len()) as u8, 0, 3, 0, 0];
    startup.extend(hello);
    let target = "postgresql://me:top@127.0.0.1/d%20b";
    let first = |words: &[u8], more: &[u8]| {
        let mut greeting = protocol(target).greeting().expect("a greeting");
        let mut said = Vec::new();
        assert_eq!(greeting.go_on(b"", &mut said), Greeted::Waits(0));
        assert_eq!(said, startup);
        said.clear();
        let greeted = greeting.go_on(words, &mut said);
        if greeted != Greeted::Waits(words.len()) {
            return (said, greeted);
        }
        let greeted = greeting.go_on(more, &mut said);
        (said, greeted)
    };
    let welcome = [ok, rest].concat();
    assert_eq!(first(&welcome, b""), (Vec::new(), Greeted::Done));
    let clear = message(b'R', &[0, 0, 0, 3]);
    assert_eq!(first(&clear, &welcome), (message(b'p', b"top\0"), Greeted::Done));
    // md5(md5("topme") in hexadecimal digits, and the salt), by md5sum.
    let salted = message(b'R', &[0, 0, 0, 5, b's', b'a', b'l', b't']);
    let hash = message(b'p', b"md5c7701b0af99bed43e0e618bc5dabf2a8\0");
    assert_eq!(first(&salted, &welcome), (hash, Greeted::Done));
    let sasl = message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
    let (said, end) = first(&sasl, &welcome);
    assert!(said.windows(8).any(|eight| eight == b"n,,n=,r="), "{said:?}");
    assert_eq!(end, Greeted::Garbage, "the server has not shown that it knows the password");
    let (_, refused) = first(&message(b'E', b"C28P01\0Mnot top\n!\0\0"), b"");
    assert_eq!(refused, Greeted::Refused("not *** !, SQLSTATE 28P01".to_string()));
    assert_eq!(
        first(&[&welcome[..], b"Z"].concat(), b"").1,
        Greeted::Garbage,
        "more than was asked"
    );
    assert_eq!(first(b"R\xff\xff\xff\xff", b"").1, Greeted::Garbage);
    assert_eq!(first(b"R\x7f\xff\xff\xff", b"").1, Greeted::Garbage, "no room is made for it");
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag], &(4 + body.len() as u32).to_be_bytes()[..], body].concat()
}

#[test]
fn a_password_is_in_no_text_of_its_target() {
    let target = Target::parse("redis://me:top@127.0.0.1/1", None).expect("a target");
    assert_eq!(target.text, "redis://me@127.0.0.1/1");
    assert!(!format!("{target:?}").contains("top"), "{target:?}");
    let without = Target::parse("redis://me@127.0.0.1", None).expect("a target");
    let refused = without.clone().with_password(None).unwrap_err().to_string();
    assert!(refused.contains("--password-file"), "{refused}");
    let given = without.with_password(Some(Secret::new("top".to_string()))).expect("it takes one");
    assert!(given.protocol().greeting().is_some() && !format!("{given:?}").contains("top"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_greeting_survives_any_bytes(words in prop::collection::vec(any::<u8>(), 0..60), cut: u8) {
        for target in GREETED {
            let mut greeting = protocol(target).greeting().expect("a greeting");
            let mut said = Vec::new();
            greeting.go_on(b"", &mut said);
            let mut left = words[..usize::from(cut).min(words.len())].to_vec();
            if let Greeted::Waits(used) = greeting.go_on(&left, &mut said) {
                prop_assert!(used <= left.len());
                left = words[used..].to_vec();
                greeting.go_on(&left, &mut said);
            }
        }
    }
}

/// Targets whose connections begin with a greeting.
const GREETED: [&str; 2] = ["redis://me:p%3aw@127.0.0.1/3", "postgresql://me:p@127.0.0.1"];
