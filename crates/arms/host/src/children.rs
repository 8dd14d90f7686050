//! The scenario's programs as child processes: started, connected, told when to begin, and gone in every
//! case.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use model::Failure;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::role::ROLE;
use crate::role::order::{CommandRun, Go, Order, Reply, Work};

/// How long a child may take for an answer. It is short work even on a machine that is busy with a hundred
/// other things.
const PATIENCE_MS: u16 = 20_000;

/// What a program did.
pub struct Done {
    /// How many rounds each member completed inside the window.
    pub rounds: Vec<u64>,
    /// Every run of a command.
    pub runs: Vec<CommandRun>,
}

/// A running program. Dropping it kills the process and waits for its end.
pub struct Program {
    name: String,
    serves: bool,
    is_command: bool,
    child: Child,
    orders: ChildStdin,
    replies: BufReader<ChildStdout>,
    /// The programs of the scenario whose threads it has.
    pub members: Vec<usize>,
    /// The kernel ids of their threads, in order.
    pub threads: Vec<Vec<i32>>,
    /// The client's end of its connections, in the order of acceptance.
    pub connections: Vec<TcpStream>,
}

impl Program {
    /// Starts a child. It is fully there, with all threads and connections, and waits for [`Program::go`].
    pub fn start(name: &str, members: Vec<usize>, order: &Order) -> Result<Program, Failure> {
        let mut program = Program::begin(name, members, order)?;
        if let [Work::Serve(serve), ..] = &order.work[..] {
            program.connect(serve.connections)?;
        }
        program.await_ready()?;
        Ok(program)
    }

    /// Starts a child that is no service, and does not wait for it: [`Program::await_ready`] does.
    pub fn begin(name: &str, members: Vec<usize>, order: &Order) -> Result<Program, Failure> {
        Program::spawn(name, members, order).map_err(|error| {
            Failure::Run(format!("program `{name}` could not be started: {error}"))
        })
    }

    /// Waits until all its threads are there.
    pub fn await_ready(&mut self) -> Result<(), Failure> {
        match self.reply()? {
            Reply::Ready { threads } => self.threads = threads,
            other => return Err(self.out_of_turn(&other)),
        }
        Ok(())
    }

    fn spawn(name: &str, members: Vec<usize>, order: &Order) -> io::Result<Program> {
        // The link still leads to this very program when a build has replaced the file.
        let mut child = Command::new("/proc/self/exe")
            .args([ROLE, name])
            // A process group of its own: Ctrl-C on the terminal is for the parent, which then ends the
            // children.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = child.stdin.take().expect("piped");
        let replies = BufReader::new(child.stdout.take().expect("piped"));
        let (threads, connections) = (Vec::new(), Vec::new());
        let serves = matches!(order.work[..], [Work::Serve(_), ..]);
        let is_command = matches!(order.work[..], [Work::Command { .. }]);
        let mut program = Program {
            name: name.to_string(),
            serves,
            is_command,
            child,
            orders,
            replies,
            members,
            threads,
            connections,
        };
        program.tell(&serde_json::to_string(order)?)?;
        Ok(program)
    }

    fn connect(&mut self, connections: u32) -> Result<(), Failure> {
        let port = match self.reply()? {
            Reply::Listening { port } => port,
            other => return Err(self.out_of_turn(&other)),
        };
        for _ in 0..connections {
            let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                .and_then(|stream| stream.set_nodelay(true).map(|()| stream));
            let stream = connected.map_err(|error| self.broken(&error.to_string()))?;
            self.connections.push(stream);
        }
        Ok(())
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is a service.
    pub fn serves(&self) -> bool {
        self.serves
    }

    /// Whether it runs a command, whose last run goes on after the window.
    pub fn is_command(&self) -> bool {
        self.is_command
    }

    /// Lets the threads begin at the given moment.
    pub fn go(&mut self, go: &Go) -> Result<(), Failure> {
        let line = serde_json::to_string(go).expect("numbers only");
        self.tell(&line).map_err(|error| self.broken(&error.to_string()))
    }

    /// Fails if the process has ended, which it never does by itself.
    pub fn check_alive(&mut self) -> Result<(), Failure> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.broken(&format!("it ended early ({status})"))),
            Err(error) => Err(self.broken(&error.to_string())),
        }
    }

    /// Begins its end, which dropping it waits for.
    pub fn kill(&mut self) {
        // It fails only when the child is gone and reaped already.
        let _ = self.child.kill();
    }

    /// Ends the program; what it did.
    pub fn finish(mut self) -> Result<Done, Failure> {
        self.end_window()?;
        self.done()
    }

    /// Says that the window is over, which [`Program::done`] waits for.
    pub fn end_window(&mut self) -> Result<(), Failure> {
        self.tell("").map_err(|error| self.broken(&error.to_string()))
    }

    /// What it did.
    pub fn done(&mut self) -> Result<Done, Failure> {
        match self.reply()? {
            Reply::Done { rounds, runs } => Ok(Done { rounds, runs }),
            other => Err(self.out_of_turn(&other)),
        }
    }

    fn tell(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.orders, "{line}")?;
        self.orders.flush()
    }

    fn reply(&mut self) -> Result<Reply, Failure> {
        let reply = self.read_reply().and_then(|line| Ok(serde_json::from_str(&line)?));
        match reply {
            Ok(Reply::Failed { message }) => Err(self.broken(&message)),
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.broken(&error.to_string())),
        }
    }

    fn read_reply(&mut self) -> io::Result<String> {
        let mut line = String::new();
        let mut ready = [PollFd::new(self.replies.get_ref().as_fd(), PollFlags::POLLIN)];
        if self.replies.buffer().is_empty()
            && poll(&mut ready, PollTimeout::from(PATIENCE_MS))? == 0
        {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        self.replies.read_line(&mut line)?;
        Ok(line)
    }

    fn broken(&self, reason: &str) -> Failure {
        Failure::Run(format!("program `{}` failed: {reason}", self.name))
    }

    fn out_of_turn(&self, reply: &Reply) -> Failure {
        self.broken(&format!("{reply:?} was not its turn to say"))
    }
}

/// The threads of the scenario's programs in its order, each list with its process.
pub fn threads(processes: &[Program]) -> Vec<(u32, &[i32])> {
    in_order(processes.iter().flat_map(|running| {
        let lists = running.threads.iter().map(|threads| (running.id(), threads.as_slice()));
        running.members.iter().copied().zip(lists)
    }))
}

/// What belongs to the scenario's programs, in its order.
pub fn in_order<T>(of_programs: impl IntoIterator<Item = (usize, T)>) -> Vec<T> {
    let mut all: Vec<(usize, T)> = of_programs.into_iter().collect();
    all.sort_by_key(|(program, _)| *program);
    all.into_iter().map(|(_, one)| one).collect()
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}
