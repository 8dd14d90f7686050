//! Arithmetic over readings: `1 - cts p99_9_us / cfs p99_9_us`.
//!
//! Tokens stand apart by blanks. A number is a number; other words up to the next sign are one reading.

/// Finds what a reading is.
pub type Reader<'a> = dyn Fn(&str) -> Result<f64, String> + 'a;

/// The value of an expression of `+ - * / ^ ( )`.
pub fn value(text: &str, read: &Reader) -> Result<f64, String> {
    let mut parser = Parser { tokens: text.split_whitespace().collect(), at: 0, read };
    let value = parser.sum()?;
    match parser.peek() {
        None => Ok(value),
        Some(token) => Err(format!("'{text}': '{token}' is out of place")),
    }
}

/// Both sides of `LEFT < RIGHT`.
pub fn sides(text: &str, read: &Reader) -> Result<(f64, f64), String> {
    let (left, right) =
        text.split_once(" < ").ok_or_else(|| format!("'{text}': expected LEFT < RIGHT"))?;
    Ok((value(left, read)?, value(right, read)?))
}

struct Parser<'a> {
    tokens: Vec<&'a str>,
    at: usize,
    read: &'a Reader<'a>,
}

const SIGNS: [&str; 7] = ["+", "-", "*", "/", "^", "(", ")"];

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.at).copied()
    }

    fn taken(&mut self, sign: &str) -> bool {
        let there = self.peek() == Some(sign);
        self.at += usize::from(there);
        there
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        loop {
            if self.taken("+") {
                value += self.product()?;
            } else if self.taken("-") {
                value -= self.product()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.power()?;
        loop {
            if self.taken("*") {
                value *= self.power()?;
            } else if self.taken("/") {
                value /= self.power()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn power(&mut self) -> Result<f64, String> {
        let base = self.atom()?;
        if self.taken("^") { Ok(base.powf(self.power()?)) } else { Ok(base) }
    }

    fn atom(&mut self) -> Result<f64, String> {
        if self.taken("(") {
            let value = self.sum()?;
            return if self.taken(")") { Ok(value) } else { Err("a ( without )".to_string()) };
        }
        let from = self.at;
        while self.peek().is_some_and(|token| !SIGNS.contains(&token)) {
            self.at += 1;
        }
        match &self.tokens[from..self.at] {
            [] => Err(format!("'{}': a value is missing", self.tokens.join(" "))),
            [word] if word.parse::<f64>().is_ok() => Ok(word.parse().expect("it did")),
            words => (self.read)(&words.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<f64, String> {
        value(text, &|reading| if reading == "a b" { Ok(4.0) } else { Err(reading.to_string()) })
    }

    #[test]
    fn arithmetic_binds_as_people_expect() {
        assert_eq!(of("1 - a b / 8"), Ok(0.5));
        assert_eq!(of("( 1 - a b ) * 2"), Ok(-6.0));
        assert_eq!(of("2 ^ 3 ^ 2 + -1"), Ok(511.0));
        assert_eq!(sides("a b < 5", &|_| Ok(4.0)), Ok((4.0, 5.0)));
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in ["1 +", "( 1", "1 )", "a", "", "1 2"] {
            assert!(of(text).is_err(), "{text}");
        }
        assert!(sides("1 > 2", &|_| Ok(0.0)).is_err());
    }
}
