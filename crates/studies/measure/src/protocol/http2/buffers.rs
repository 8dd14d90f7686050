//! What h2 reads and writes: memory.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// One end of a connection; the other is the generator's.
#[derive(Clone, Default)]
pub struct Buffers(Arc<Mutex<Both>>);

#[derive(Default)]
struct Both {
    came: Vec<u8>,
    read: usize,
    said: Vec<u8>,
}

impl Buffers {
    /// Puts in what came.
    pub fn come(&self, bytes: &[u8]) {
        let both = &mut *self.lock();
        if both.read == both.came.len() {
            both.came.clear();
            both.read = 0;
        }
        both.came.extend_from_slice(bytes);
    }

    /// Takes out what is to be said.
    pub fn take(&self, say: &mut Vec<u8>) {
        say.append(&mut self.lock().said);
    }

    fn lock(&self) -> MutexGuard<'_, Both> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for Buffers {
    fn poll_read(
        self: Pin<&mut Self>,
        _cx: &mut Context,
        into: &mut ReadBuf,
    ) -> Poll<io::Result<()>> {
        let both = &mut *self.lock();
        let left = &both.came[both.read..];
        if left.is_empty() {
            // No one needs to be woken: it is asked again when more has come.
            return Poll::Pending;
        }
        let count = left.len().min(into.remaining());
        into.put_slice(&left[..count]);
        both.read += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Buffers {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.lock().said.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
