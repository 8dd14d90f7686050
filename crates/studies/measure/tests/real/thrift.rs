//! A threaded server of the Apache Thrift library: `string echo(1: string text)`.

use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use libtest_mimic::Failed;
use measure::Target;
use thrift::protocol::{
    TBinaryInputProtocolFactory, TBinaryOutputProtocolFactory, TFieldIdentifier, TInputProtocol,
    TMessageIdentifier, TMessageType, TOutputProtocol, TStructIdentifier, TType,
};
use thrift::server::{TProcessor, TServer};
use thrift::transport::{
    TBufferedReadTransportFactory, TBufferedWriteTransportFactory, TFramedReadTransportFactory,
    TFramedWriteTransportFactory,
};

use crate::{CONNECTIONS, all_answered, measured, setup};

struct Echo;

impl TProcessor for Echo {
    fn process(
        &self,
        input: &mut dyn TInputProtocol,
        output: &mut dyn TOutputProtocol,
    ) -> thrift::Result<()> {
        let call = input.read_message_begin()?;
        input.read_struct_begin()?;
        input.read_field_begin()?;
        let text = input.read_string()?;
        input.read_field_begin()?;
        input.read_struct_end()?;
        input.read_message_end()?;
        let reply = TMessageIdentifier::new(call.name, TMessageType::Reply, call.sequence_number);
        output.write_message_begin(&reply)?;
        output.write_struct_begin(&TStructIdentifier::new("result"))?;
        output.write_field_begin(&TFieldIdentifier::new("success", TType::String, 0))?;
        output.write_string(&text)?;
        output.write_field_end()?;
        output.write_field_stop()?;
        output.write_struct_end()?;
        output.write_message_end()?;
        output.flush()
    }
}

/// Every call is answered, over framed or buffered transport; it serves for as long as the test's process
/// lives.
pub fn served(framed: bool) -> Result<(), Failed> {
    let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let workers = CONNECTIONS as usize;
    let (input, output) = (TBinaryInputProtocolFactory::new, TBinaryOutputProtocolFactory::new);
    thread::spawn(move || {
        if framed {
            let (read, write) =
                (TFramedReadTransportFactory::new(), TFramedWriteTransportFactory::new());
            let _ = TServer::new(read, input(), write, output(), Echo, workers).listen(free);
        } else {
            let (read, write) =
                (TBufferedReadTransportFactory::new(), TBufferedWriteTransportFactory::new());
            let _ = TServer::new(read, input(), write, output(), Echo, workers).listen(free);
        }
    });
    thread::sleep(Duration::from_millis(200));
    let scheme = if framed { "thrift" } else { "thrift+buffered" };
    let target = Target::parse(&format!("{scheme}://{free}/echo?string_bytes=100"), None)?;
    all_answered(&measured(&target, &setup(CONNECTIONS))?);
    Ok(())
}
