mod fixture;
#[test]
fn show() {
    std::fs::write("/tmp/rep.html", report::html(&fixture::comparison())).unwrap();
    std::fs::write("/tmp/fig.html", report::figure_html(&fixture::figure())).unwrap();
    std::fs::write("/tmp/pic.svg", report::picture(&fixture::comparison()).unwrap()).unwrap();
}
