//! The DevTools protocol, as much of it as a test of a page needs: commands, answers and events as JSON over a WebSocket.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// Longer than this nothing takes, on a busy machine either.
const PATIENCE: Duration = Duration::from_secs(90);

/// A browser with one page.
pub struct DevTools {
    child: Child,
    socket: WebSocket<TcpStream>,
    session: Value,
    last_id: u64,
    is_loaded: bool,
    errors: Vec<String>,
    /// The profile; it is gone with the browser.
    profile: tempfile::TempDir,
}

impl DevTools {
    /// Starts a browser with an empty profile and a blank page.
    pub fn launch(program: &Path) -> Self {
        let profile = tempfile::tempdir().expect("a folder for the browser's profile");
        let log = std::fs::File::create(profile.path().join("stderr")).expect("the browser's log");
        let child = Command::new(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let mut child = Running(Some(child));
        let (port, path) = child.wait_for_port(profile.path());
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the browser listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out above 0");
        let (socket, _) = tungstenite::client(format!("ws://127.0.0.1:{port}{path}"), stream).expect("a WebSocket");
        let child = child.0.take().expect("it was put there");
        let (session, errors) = (Value::Null, Vec::new());
        let mut browser = Self { child, socket, session, last_id: 0, is_loaded: false, errors, profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = browser.call("Target.attachToTarget", attach)["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Goes to an address and waits until all is loaded.
    pub fn go(&mut self, address: &str) {
        self.is_loaded = false;
        let gone = self.call("Page.navigate", json!({"url": address}));
        assert!(gone["errorText"].is_null(), "{address}: {}", gone["errorText"]);
        while !self.is_loaded {
            self.receive();
        }
    }

    /// Evaluates a script; waits for a promise. An exception becomes one of the page's errors.
    pub fn evaluate(&mut self, script: &str) -> Value {
        let asked = json!({"expression": script, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", asked);
        if let Some(exception) = answer.get("exceptionDetails") {
            self.errors.push(describe(exception));
        }
        answer["result"]["value"].clone()
    }

    /// A picture of what is seen, as PNG.
    pub fn picture(&mut self) -> Vec<u8> {
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"}));
        from_base64(answer["data"].as_str().expect("a picture"))
    }

    /// Ends the browser, and gives the errors that there were.
    pub fn close(mut self) -> Vec<String> {
        // What happened before this is answered has been told by then.
        self.call("Runtime.evaluate", json!({"expression": "0"}));
        self.session = Value::Null;
        self.call("Browser.close", json!({}));
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::mem::take(&mut self.errors)
    }

    /// Sends a command and waits for its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": params});
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        self.socket.send(Message::text(message.to_string())).unwrap_or_else(|error| panic!("{method}: {error}"));
        loop {
            let mut answer = self.receive();
            if answer["id"] == self.last_id {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
        }
    }

    /// The next message; takes note of events.
    fn receive(&mut self) -> Value {
        let message = self.socket.read().unwrap_or_else(|error| panic!("the browser said nothing: {error}"));
        let message: Value = serde_json::from_slice(&message.into_data()).unwrap_or_default();
        let params = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Page.loadEventFired" => self.is_loaded = true,
            "Runtime.exceptionThrown" => self.errors.push(describe(&params["exceptionDetails"])),
            "Runtime.consoleAPICalled" if params["type"] == "error" || params["type"] == "assert" => {
                self.errors.push(format!("console: {}", params["args"]));
            }
            "Log.entryAdded" if params["entry"]["level"] == "error" => {
                self.errors.push(format!("log: {} {}", params["entry"]["text"], params["entry"]["url"]));
            }
            "Network.requestWillBeSent" => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                let is_page = params["type"] == "Document" || url.starts_with("data:") || url.starts_with("blob:");
                if !is_page {
                    self.errors.push(format!("loaded: {url}"));
                }
            }
            _ => {}
        }
        message
    }
}

impl Drop for DevTools {
    fn drop(&mut self) {
        // Gone already, unless a test failed on the way.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A browser that nobody speaks to yet; it ends where that fails.
struct Running(Option<Child>);

impl Running {
    /// The port and the path that the browser writes into its profile when it listens.
    fn wait_for_port(&mut self, profile: &Path) -> (u16, String) {
        let until = Instant::now() + PATIENCE;
        loop {
            let text = std::fs::read_to_string(profile.join("DevToolsActivePort")).unwrap_or_default();
            if let Some((port, path)) = text.split_once('\n')
                && let (Ok(port), true) = (port.parse(), path.starts_with('/'))
            {
                return (port, path.trim_end().to_string());
            }
            let ended = self.0.as_mut().and_then(|child| child.try_wait().ok().flatten());
            if ended.is_some() || Instant::now() > until {
                let log = std::fs::read_to_string(profile.join("stderr")).unwrap_or_default();
                panic!("the browser does not listen ({ended:?}):\n{log}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An exception with what is known of it.
fn describe(exception: &Value) -> String {
    let text = exception["exception"]["description"].as_str().or(exception["text"].as_str()).unwrap_or("an exception");
    format!("exception: {text} (line {})", exception["lineNumber"])
}

/// Pictures come as base64.
fn from_base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = four.iter().fold(0u32, |bits, &byte| bits << 6 | u32::from(digit(byte))) << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}
