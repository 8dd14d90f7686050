//! Headless Chromium over the DevTools protocol: opens a page and tells what it did and how it looks.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// How a page is shown.
#[derive(Clone, Copy, Debug)]
pub struct View {
    pub width: u32,
    pub dark: bool,
}

/// What a page did while it loaded.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Addresses that it asked for, itself left out.
    pub requests: Vec<String>,
    /// Messages of the console, exceptions, refusals of the content policy.
    pub complaints: Vec<String>,
}

/// A running browser with one page. It ends when this is dropped.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    last_id: u64,
    loaded: Loaded,
    _profile: tempfile::TempDir,
}

/// Commands go in by descriptor 3 and answers come out by 4, as `--remote-debugging-pipe` has them: no port,
/// no socket.
const START: &str = r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>&2"#;
const FLAGS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];

impl Browser {
    /// Starts Chromium; panics with the remedy where there is none.
    pub fn start() -> Browser {
        let profile = tempfile::tempdir().expect("a place for a profile");
        let mut child = Command::new("sh")
            .args(["-c", START, &program()])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh");
        let to = child.stdin.take().expect("piped");
        let from = BufReader::new(child.stdout.take().expect("piped"));
        let mut browser = Browser {
            child,
            to,
            from,
            session: String::new(),
            last_id: 0,
            loaded: Loaded::default(),
            _profile: profile,
        };
        browser.attach();
        browser
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let id = &target["targetId"];
        let session =
            self.call("Target.attachToTarget", json!({ "targetId": id, "flatten": true }));
        self.session = session["sessionId"].as_str().expect("a session").to_string();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Opens a file in a view and waits until it has loaded.
    pub fn open(&mut self, file: &Path, view: View) -> Loaded {
        let size = json!({ "width": view.width, "height": 900, "deviceScaleFactor": 1, "mobile": view.width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = if view.dark { "dark" } else { "light" };
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
        self.loaded = Loaded::default();
        let address = format!("file://{}", file.display());
        self.call("Page.navigate", json!({ "url": address }));
        while self.next()["method"] != "Page.loadEventFired" {}
        // What the page asked for last has been asked for by the time that it answers.
        self.evaluate("1");
        let mut loaded = std::mem::take(&mut self.loaded);
        loaded.requests.retain(|request| *request != address);
        loaded
    }

    /// The value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("a listening browser");
        loop {
            let mut answer = self.next();
            if answer["id"] == self.last_id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
        }
    }

    /// The next message; events that tell of requests and complaints are noted on the way.
    fn next(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("a talking browser");
        assert!(!bytes.is_empty(), "the browser `{}` ended", program());
        bytes.pop();
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        let params = &message["params"];
        match message["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                let address = params["request"]["url"].as_str().unwrap_or_default();
                self.loaded.requests.push(address.to_string());
            }
            Some("Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded") => {
                self.loaded.complaints.push(params.to_string());
            }
            _ => {}
        }
        message
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether the tests that need a browser were switched off; says so.
pub fn switched_off() -> bool {
    let off = std::env::var_os("RG_NO_BROWSER").is_some_and(|value| value == "1");
    if off {
        println!("not run: RG_NO_BROWSER=1");
    }
    off
}

fn program() -> String {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = names
        .into_iter()
        .find(|name| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()));
    found.map(String::from).unwrap_or_else(|| {
        panic!("no Chromium on PATH: apt-get install chromium, or set RG_NO_BROWSER=1 to leave these tests out")
    })
}
