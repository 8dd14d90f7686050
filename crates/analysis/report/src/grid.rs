//! Rows and columns of figures, before a terminal or a page gives them a look.

/// What a cell says beyond its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing.
    #[default]
    Plain,
    /// Better than what it is held against.
    Good,
    /// Worse.
    Bad,
    /// Of less weight: a reference, an answer that says nothing.
    Faint,
}

/// One figure or word, with its confidence interval if it has one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The text.
    pub text: String,
    /// The interval in brackets, or nothing.
    pub interval: String,
    /// The tone.
    pub tone: Tone,
}

impl Cell {
    /// A cell without an interval.
    pub fn plain(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A cell of (value, interval).
    pub fn estimate((text, interval): (String, String)) -> Cell {
        Cell { text, interval, tone: Tone::Plain }
    }

    /// The same cell in another tone.
    pub fn tone(self, tone: Tone) -> Cell {
        Cell { tone, ..self }
    }
}

/// When a column shows its intervals, if room is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    /// Only where there is much.
    Ample,
    /// Before those.
    Usual,
    /// As long as anything fits.
    First,
}

/// A column's title and its claim to room.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The title.
    pub title: String,
    /// The claim of its intervals.
    pub room: Room,
}

/// A table; the first column holds names and is aligned left, the others right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with one cell a column.
    pub rows: Vec<Vec<Cell>>,
    /// Titles of columns that a narrow terminal can do without, the least missed first.
    pub spare: Vec<String>,
}

impl Grid {
    /// A grid without rows whose columns have the usual claim to room.
    pub fn new(titles: impl IntoIterator<Item = String>) -> Grid {
        let column = |title| Column { title, room: Room::Usual };
        Grid { columns: titles.into_iter().map(column).collect(), ..Grid::default() }
    }

    /// The same grid; the columns with these titles claim room as said.
    pub fn claiming(mut self, room: Room, titles: &[&str]) -> Grid {
        for column in &mut self.columns {
            if titles.contains(&column.title.as_str()) {
                column.room = room;
            }
        }
        self
    }

    /// Drops the columns, except the first, where no cell knows anything.
    pub fn without_empty(mut self) -> Grid {
        let says = |row: &Vec<Cell>, at: usize| row[at].text != crate::human::UNKNOWN;
        let keep: Vec<bool> = (0..self.columns.len())
            .map(|at| at == 0 || self.rows.iter().any(|row| says(row, at)))
            .collect();
        self.keep(&keep);
        self
    }

    /// The grid without its most spare column, if it has one.
    pub fn narrower(&self) -> Option<Grid> {
        let mut grid = self.clone();
        let title = (!grid.spare.is_empty()).then(|| grid.spare.remove(0))?;
        let keep: Vec<bool> = grid.columns.iter().map(|column| column.title != title).collect();
        grid.keep(&keep);
        Some(grid)
    }

    /// Rows as columns, under a first column with this title.
    pub fn transposed(&self, title: &str) -> Grid {
        let titles = std::iter::once(title).chain(self.rows.iter().map(|row| row[0].text.as_str()));
        let mut grid = Grid::new(titles.map(String::from));
        grid.rows = (1..self.columns.len())
            .map(|at| {
                let name = Cell::plain(&self.columns[at].title);
                std::iter::once(name).chain(self.rows.iter().map(|row| row[at].clone())).collect()
            })
            .collect();
        grid
    }

    fn keep(&mut self, flags: &[bool]) {
        let mut at = flags.iter();
        self.columns.retain(|_| *at.next().expect("one flag a column"));
        for row in &mut self.rows {
            let mut at = flags.iter();
            row.retain(|_| *at.next().expect("one flag a column"));
        }
    }
}

/// A grid with the words around it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// One line above.
    pub heading: String,
    /// The figures.
    pub grid: Grid,
    /// Lines below, the most telling first.
    pub notes: Vec<Cell>,
}
