//! One request and its answer.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use generator::{Answer, Loss};
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Response};

use super::{GRPC_PREFIX, Said};
use crate::protocol::http::HttpOptions;

/// Bytes of an answer at most, as over HTTP/1.1.
const LONGEST: usize = 64 << 20;
/// gRPC's statuses, by their number.
const STATUSES: [&str; 17] = [
    "OK",
    "gRPC CANCELLED",
    "gRPC UNKNOWN",
    "gRPC INVALID_ARGUMENT",
    "gRPC DEADLINE_EXCEEDED",
    "gRPC NOT_FOUND",
    "gRPC ALREADY_EXISTS",
    "gRPC PERMISSION_DENIED",
    "gRPC RESOURCE_EXHAUSTED",
    "gRPC FAILED_PRECONDITION",
    "gRPC ABORTED",
    "gRPC OUT_OF_RANGE",
    "gRPC UNIMPLEMENTED",
    "gRPC INTERNAL",
    "gRPC UNAVAILABLE",
    "gRPC DATA_LOSS",
    "gRPC UNAUTHENTICATED",
];

/// A request on its way.
pub struct Stream {
    response: ResponseFuture,
    sending: SendStream<Bytes>,
    answer: Option<(Response<()>, RecvStream)>,
    received: usize,
    options: HttpOptions,
    is_grpc: bool,
}

impl Stream {
    /// Just sent.
    pub fn new(response: ResponseFuture, sending: SendStream<Bytes>, said: &Said) -> Stream {
        let (options, is_grpc) = (said.options.clone(), said.is_grpc);
        Stream { response, sending, answer: None, received: 0, options, is_grpc }
    }

    /// Whether a part of the answer has come.
    pub fn has_begun(&self) -> bool {
        self.answer.is_some()
    }

    /// Tells the server that nothing is wanted any more.
    pub fn cancel(mut self) {
        self.sending.send_reset(Reason::CANCEL);
    }

    /// How it ended, once it has: with the last byte of body or trailers.
    pub fn poll(&mut self, cx: &mut Context) -> Poll<Result<Answer, Loss>> {
        let Some((head, body)) = &mut self.answer else {
            return match Pin::new(&mut self.response).poll(cx) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Err(error)) => Poll::Ready(Err(loss(&error))),
                Poll::Ready(Ok(response)) => {
                    let (head, body) = response.into_parts();
                    self.answer = Some((Response::from_parts(head, ()), body));
                    self.poll(cx)
                }
            };
        };
        loop {
            match body.poll_data(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(loss(&error))),
                Poll::Ready(Some(Ok(data))) => {
                    self.received += data.len();
                    // It fails where the stream has ended, and then there is nothing to make room for.
                    let _ = body.flow_control().release_capacity(data.len());
                    if self.received > LONGEST {
                        self.sending.send_reset(Reason::CANCEL);
                        return Poll::Ready(Err(Loss::Garbage));
                    }
                }
                Poll::Ready(None) => break,
            }
        }
        let trailers = match body.poll_trailers(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(loss(&error))),
            Poll::Ready(Ok(trailers)) => trailers,
        };
        let complaint = match self.is_grpc {
            false => self.options.complaint(head.status().as_u16()),
            true => called(head, trailers.as_ref(), self.received),
        };
        Poll::Ready(Ok(Answer { complaint, ..Answer::default() }))
    }
}

fn loss(error: &h2::Error) -> Loss {
    match error.reason() {
        // Beyond what the server said that it would still answer.
        Some(Reason::NO_ERROR | Reason::REFUSED_STREAM) | None => Loss::Closed,
        Some(_) if error.is_remote() => Loss::Reset,
        Some(_) => Loss::Garbage,
    }
}

/// What is wrong with the answer to a call: its status is in the trailers, or in the head of one without a
/// body.
fn called(
    head: &Response<()>,
    trailers: Option<&HeaderMap>,
    received: usize,
) -> Option<&'static str> {
    if head.status().as_u16() != 200 {
        return Some("gRPC without HTTP 200");
    }
    let status = trailers.and_then(|all| all.get("grpc-status"));
    let status = status.or_else(|| head.headers().get("grpc-status"));
    let Some(status) = status else { return Some("gRPC without status") };
    let number = status.to_str().ok().and_then(|text| text.parse::<usize>().ok());
    match number {
        Some(0) if received < GRPC_PREFIX => Some("gRPC OK without message"),
        Some(0) => None,
        number => Some(number.and_then(|at| STATUSES.get(at).copied()).unwrap_or("gRPC UNKNOWN")),
    }
}
