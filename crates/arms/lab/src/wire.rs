//! What the guest tells the host: frames of a kind, a length and bytes, over one virtio-serial port.

use std::io::{self, Read, Write};

/// One of the command's two streams of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Its standard output.
    Stdout,
    /// Its standard error.
    Stderr,
}

/// A thing the guest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The kernel is up and the command about to start.
    Booted,
    /// A piece of the command's output.
    Output(Stream, Vec<u8>),
    /// A piece of the archive of the files to bring back.
    Files(Vec<u8>),
    /// A file to bring back could not be read: path and reason.
    Absent(String),
    /// The guest could not do its part.
    Failed(String),
    /// The command ended with this code; nothing follows.
    Exit(u8),
}

/// A longer frame is not ours.
const LONGEST: u32 = 1 << 20;

impl Frame {
    /// Writes the frame in one call.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (kind, bytes): (u8, &[u8]) = match self {
            Frame::Booted => (b'b', &[]),
            Frame::Output(Stream::Stdout, bytes) => (b'o', bytes),
            Frame::Output(Stream::Stderr, bytes) => (b'e', bytes),
            Frame::Files(bytes) => (b'f', bytes),
            Frame::Absent(text) => (b'a', text.as_bytes()),
            Frame::Failed(text) => (b'w', text.as_bytes()),
            Frame::Exit(code) => (b'x', std::slice::from_ref(code)),
        };
        let length = u32::try_from(bytes.len()).expect("pieces are short");
        to.write_all(&[&[kind], &length.to_le_bytes()[..], bytes].concat())
    }

    /// Reads the next frame; `None`: the guest said its last.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Frame>> {
        let mut head = [0; 5];
        if from.read(&mut head[..1])? == 0 {
            return Ok(None);
        }
        from.read_exact(&mut head[1..])?;
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        if length > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame of no guest of ours"));
        }
        let mut bytes = vec![0; length as usize];
        from.read_exact(&mut bytes)?;
        Frame::of(head[0], bytes).map(Some)
    }

    fn of(kind: u8, bytes: Vec<u8>) -> io::Result<Frame> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(match (kind, bytes.as_slice()) {
            (b'b', []) => Frame::Booted,
            (b'o', _) => Frame::Output(Stream::Stdout, bytes),
            (b'e', _) => Frame::Output(Stream::Stderr, bytes),
            (b'f', _) => Frame::Files(bytes),
            (b'a', _) => Frame::Absent(text(&bytes)),
            (b'w', _) => Frame::Failed(text(&bytes)),
            (b'x', [code]) => Frame::Exit(*code),
            _ => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame of no known kind"));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_survives_the_wire() {
        let frames = [
            Frame::Booted,
            Frame::Output(Stream::Stdout, b"out\0\n".to_vec()),
            Frame::Output(Stream::Stderr, Vec::new()),
            Frame::Files(vec![7; 70_000]),
            Frame::Absent("/x: none".into()),
            Frame::Failed("why".into()),
            Frame::Exit(255),
        ];
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.write(&mut bytes).unwrap());
        let mut from = bytes.as_slice();
        for frame in frames {
            assert_eq!(Frame::read(&mut from).unwrap(), Some(frame));
        }
        assert_eq!(Frame::read(&mut from).unwrap(), None);
    }

    #[test]
    fn noise_is_refused() {
        for noise in
            [&b"z\0\0\0\0"[..], b"o\xff\xff\xff\xff", b"x\0\0\0\0", b"o\x05\0\0\0ab", b"o\x05"]
        {
            Frame::read(&mut &noise[..]).unwrap_err();
        }
    }
}
