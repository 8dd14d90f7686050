//! A receiver within TLS. Whose certificates are trusted is said by the environment, so that the sender is
//! another process: this very test in another role.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use recorder::{Pace, Signal};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::{QUICK, lines, sender};

/// Says to the sender where the receiver is.
const URL: &str = "RG_TEST_OTLP";

/// The sender's part.
#[test]
#[ignore = "its caller says where to send"]
fn send() {
    let Ok(url) = std::env::var(URL) else { return };
    // A debug build's handshake on a full machine takes a while.
    let patient = Pace { timeout: Duration::from_secs(20), ..QUICK };
    let (sender, said) = sender(&url, Signal::Traces, patient);
    sender.offer(b"one".to_vec());
    while sender.counts().sent == 0 && lines(&said).is_empty() {
        thread::sleep(Duration::from_millis(5));
    }
    println!("{} sent {}", sender.counts().sent, lines(&said).concat());
}

/// A receiver with a certificate of this name; its URL, and how many messages came.
fn receiver(name: &str, file: &Path) -> (String, Arc<AtomicU64>) {
    let made = rcgen::generate_simple_self_signed([name.to_string()]).expect("a certificate");
    std::fs::write(file, made.cert.pem()).expect("a file");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![made.cert.der().clone()], key).expect("its own");
    let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0").expect("a port"));
    let port = listener.local_addr().expect("it is bound").port();
    let came = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&came);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            let mut stream = StreamOwned::new(connection, stream);
            let (mut all, mut room) = (Vec::new(), [0; 1024]);
            while !all.ends_with(b"\r\n\r\none") {
                match stream.read(&mut room) {
                    Ok(count) if count > 0 => all.extend(&room[..count]),
                    _ => break,
                }
            }
            if all.ends_with(b"one") {
                count.fetch_add(1, Ordering::Relaxed);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }
        }
    });
    (format!("https://{name}:{port}"), came)
}

#[test]
fn a_receiver_within_tls_is_believed_where_its_certificate_is_trusted() {
    let folder = tempfile::tempdir().expect("a folder");
    let [own, others] = ["own.pem", "others.pem"].map(|name| folder.path().join(name));
    let (url, came) = receiver("localhost", &own);
    receiver("localhost", &others);
    let send = |trusted: &Path| {
        let mut command = Command::new(std::env::current_exe().expect("a test"));
        command.args(["--ignored", "--exact", "secure::send", "--nocapture"]);
        let command = command.env(URL, &url).env("SSL_CERT_FILE", trusted);
        let output = command.env_remove("SSL_CERT_DIR").output();
        String::from_utf8(output.expect("it runs").stdout).expect("UTF-8")
    };
    let said = send(&others);
    assert!(said.contains("0 sent") && said.contains("certificate"), "{said}");
    assert_eq!(came.load(Ordering::Relaxed), 0, "nothing is told to others");
    let said = send(&own);
    assert!(said.contains("1 sent"), "{said}");
    assert_eq!(came.load(Ordering::Relaxed), 1);
}
