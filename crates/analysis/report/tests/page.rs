//! The pages as a browser sees them.
//!
//! The same checks are made of pages with one fault each, and must find it.

mod browser;
mod fixture;

use browser::{Browser, View, switched_off};
use serde_json::Value;

const VIEWS: [View; 4] = [
    View { width: 1280, dark: false },
    View { width: 1280, dark: true },
    View { width: 390, dark: false },
    View { width: 390, dark: true },
];

/// What a page must show.
struct Expected {
    /// Curves of the tail chart that is on view.
    tails: usize,
    /// Panels over time.
    panels: usize,
    /// Rows of all tables.
    rows: usize,
}

/// What a look at the page finds; an expression that the browser evaluates.
const LOOK: &str = r##"(() => {
  const shown = e => e.getClientRects().length > 0;
  const all = selector => [...document.querySelectorAll(selector)];
  const colour = e => getComputedStyle(e);
  const drawn = all("svg.chart").filter(shown);
  const inside = text => {
    const box = text.getBoundingClientRect(), chart = text.closest("svg").getBoundingClientRect();
    return box.left >= chart.left - 1 && box.right <= chart.right + 1 && box.top >= chart.top - 1 && box.bottom <= chart.bottom + 1;
  };
  const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const clashes = drawn.flatMap(svg => {
    const texts = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
    return texts.flatMap((a, i) => texts.slice(i + 1).filter(b => overlap(a[1], b[1])).map(b => a[0] + " / " + b[0]));
  });
  return {
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    tails: drawn.filter(svg => !svg.classList.contains("panel")).map(svg => svg.querySelectorAll("path.curve").length),
    panels: drawn.filter(svg => svg.classList.contains("panel")).length,
    rows: all("tbody tr").filter(shown).length,
    broken: all("path").map(p => p.getAttribute("d")).filter(d => !/^M[-0-9. ML]+Z?$/.test(d)),
    flat: drawn.flatMap(svg => [...svg.querySelectorAll("path.curve")]).filter(p => p.getTotalLength() < 20).length,
    outside: drawn.flatMap(svg => [...svg.querySelectorAll("text")]).filter(t => !inside(t)).map(t => t.textContent),
    clashes,
    paper: colour(document.body).backgroundColor,
    ink: colour(document.body).color,
    strokes: new Set(all("path.curve").map(p => colour(p).stroke)).size,
  };
})()"##;

/// Every fault of a page in a view.
fn faults(browser: &mut Browser, html: &str, view: View, expected: &Expected) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a place for a page");
    let file = folder.path().join("report.html");
    std::fs::write(&file, html).expect("a written page");
    let loaded = browser.open(&file, view);
    let look = browser.evaluate(LOOK);
    let mut faults: Vec<String> = Vec::new();
    let mut claim = |holds: bool, what: String| faults.extend((!holds).then_some(what));
    claim(loaded.requests.is_empty(), format!("asks for {:?}", loaded.requests));
    claim(loaded.complaints.is_empty(), format!("complains {:?}", loaded.complaints));
    claim(look["overflow"] == 0, format!("wider than its window by {}", look["overflow"]));
    claim(look["tails"] == serde_json::json!([expected.tails]), format!("tails {}", look["tails"]));
    claim(look["panels"] == expected.panels, format!("panels {}", look["panels"]));
    claim(look["rows"] == expected.rows, format!("rows {}", look["rows"]));
    for kind in ["broken", "outside", "clashes"] {
        claim(look[kind] == serde_json::json!([]), format!("{kind}: {}", look[kind]));
    }
    claim(look["flat"] == 0, format!("{} curves without length", look["flat"]));
    let (paper, ink) = (brightness(&look["paper"]), brightness(&look["ink"]));
    let dark = paper < 0.3 && ink > 0.7;
    let light = paper > 0.7 && ink < 0.3;
    claim(if view.dark { dark } else { light }, format!("paper {paper:.2}, ink {ink:.2}"));
    claim(!html.contains("://"), "names an address".to_string());
    faults
}

/// Of `rgb(r, g, b)`, 0 to 1.
fn brightness(colour: &Value) -> f64 {
    let text = colour.as_str().unwrap_or_default();
    let parts = text.trim_start_matches("rgb(").trim_end_matches(')').split(',');
    parts.filter_map(|part| part.trim().parse::<f64>().ok()).sum::<f64>() / (3.0 * 255.0)
}

const COMPARISON: Expected = Expected { tails: 5, panels: 6, rows: 19 };

#[test]
fn pages_are_whole_in_every_view() {
    if switched_off() {
        return;
    }
    let mut browser = Browser::start();
    let comparison = report::html(&fixture::comparison());
    let figure = report::figure_html(&fixture::figure());
    for view in VIEWS {
        let found = faults(&mut browser, &comparison, view, &COMPARISON);
        assert!(found.is_empty(), "comparison in {view:?}: {found:#?}");
        let expected = Expected { tails: 6, panels: 0, rows: 12 };
        let found = faults(&mut browser, &figure, view, &expected);
        assert!(found.is_empty(), "figure in {view:?}: {found:#?}");
    }
}

#[test]
fn pages_of_many_servers_are_whole_in_every_view() {
    if switched_off() {
        return;
    }
    let mut browser = Browser::start();
    let pages = [
        (report::fan_out_html(&fixture::fan_out()), 2),
        (report::cluster_html(&fixture::cluster(&[0.2, 0.5, 0.8])), 6),
        (report::cluster_html(&fixture::cluster(&[0.5])), 2),
    ];
    for view in VIEWS {
        for (page, rows) in &pages {
            let expected = Expected { tails: 2, panels: 0, rows: *rows };
            let found = faults(&mut browser, page, view, &expected);
            assert!(found.is_empty(), "{rows} rows in {view:?}: {found:#?}");
        }
    }
}

#[test]
fn a_proof_is_whole_in_every_view() {
    if switched_off() {
        return;
    }
    let mut browser = Browser::start();
    let page = report::proof_html(&fixture::proof());
    for view in VIEWS {
        let found = faults(&mut browser, &page, view, &Expected { tails: 0, panels: 0, rows: 12 });
        assert!(found.iter().all(|fault| fault == "tails []"), "{view:?}: {found:#?}");
    }
}

#[test]
fn strange_results_break_no_page() {
    if switched_off() {
        return;
    }
    let mut browser = Browser::start();
    let page = report::html(&fixture::strange());
    let expected = Expected { tails: 10, panels: 11, rows: 33 };
    for view in VIEWS {
        let found = faults(&mut browser, &page, view, &expected);
        assert!(found.is_empty(), "{view:?}: {found:#?}");
        let title = browser.evaluate("document.title + document.querySelector('h1').textContent");
        assert!(title.as_str().expect("a title").contains("<script>"), "{title}");
    }
}

#[test]
fn a_picture_stands_alone() {
    if switched_off() {
        return;
    }
    let mut browser = Browser::start();
    let pictures =
        [fixture::comparison(), fixture::strange()].map(|document| report::picture(&document));
    for (picture, curves) in pictures.into_iter().zip([5, 10]) {
        let picture = picture.expect("curves").replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        let style = "background: var(--paper); color: var(--ink)";
        let page = format!("<!doctype html><body style=\"{style}\">{picture}");
        // Each curve has a piece of its line in the key.
        let expected = Expected { tails: 2 * curves, panels: 0, rows: 0 };
        for view in &VIEWS[..2] {
            let found = faults(&mut browser, &page, *view, &expected);
            assert!(found.is_empty(), "{view:?}: {found:#?}");
        }
    }
}

#[test]
fn every_fault_of_a_page_is_found() {
    if switched_off() {
        return;
    }
    let mut browser = Browser::start();
    let html = report::html(&fixture::comparison());
    let with = |from: &str, to: &str| {
        assert!(html.contains(from), "{from}");
        html.replacen(from, to, 1)
    };
    let body = |more: &str| with("</main>", &format!("{more}</main>"));
    let unguarded =
        |page: &str| page.replace("http-equiv=\"Content-Security-Policy\"", "name=\"none\"");
    let broken = [
        ("broken", with("d=\"M", "d=\"MNaN NaNL")),
        ("asks for", unguarded(&body("<img src=\"file:///nowhere.png\">"))),
        ("complains", body("<script>alert(1)</script>")),
        ("names an address", body("<a href=\"https://example.org\">x</a>")),
        ("wider", body("<div style=\"width: 3000px\">x</div>")),
        ("rows", with("<tr><td", "<tr hidden><td")),
        ("tails", html.replace("curve ideal", "line ideal")),
        ("panels", with("chart panel", "chart")),
        ("outside", with("class=\"title\">", "class=\"title\" dx=\"-500\">")),
        ("clashes", with("class=\"title\">", "class=\"title\" dy=\"16\" dx=\"20\">")),
        ("paper", with("--paper: #ffffff", "--paper: #333333")),
    ];
    let view = VIEWS[0];
    for (fault, page) in broken {
        let found = faults(&mut browser, &page, view, &COMPARISON);
        assert!(found.iter().any(|words| words.starts_with(fault)), "{fault} not in {found:#?}");
    }
}
