"""`server.py PORT CAUSE LOG FOLDER PORT_BEHIND [pool]`: a thread a connection, or one that reads for a pool, and
one cause in its own code.

When the cause was at work stands in LOG, by CLOCK_MONOTONIC, a line each.
"""

import concurrent.futures
import fcntl
import mmap
import os
import selectors
import socket
import subprocess
import sys
import threading
import time

PORT, CAUSE, LOG, FOLDER = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
PORT_BEHIND = int(sys.argv[5])
EVERY = 50
FILE_BYTES = 4 << 20
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nEND\r\n"
lock = threading.Lock()
count = 0


def log(begin):
    with open(LOG, "a", encoding="ascii") as out:
        out.write(f"{begin} {time.monotonic()}\n")


def sync():
    """Some pages, and a wait until the disk has them."""
    with open(f"{FOLDER}/{threading.get_ident()}", "wb") as out:
        out.write(os.urandom(16 << 10))
        out.flush()
        os.fsync(out.fileno())


def major_faults():
    """Pages of a file that the cache does not have."""
    with open(f"{FOLDER}/pages", "rb") as pages:
        os.posix_fadvise(pages.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with mmap.mmap(pages.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            mapped.madvise(mmap.MADV_RANDOM)
            for at in range(0, FILE_BYTES, FILE_BYTES // 16):
                mapped[at]


def minor_faults():
    """Fresh pages."""
    with mmap.mmap(-1, 400 << 20) as fresh:
        for at in range(0, 400 << 20, 4096):
            fresh[at] = 1


def hold():
    while True:
        time.sleep(0.5)
        with lock:
            begin = time.monotonic()
            time.sleep(0.15)
            log(begin)


def file_lock():
    """Of a file that another process may hold."""
    with open(f"{FOLDER}/lock", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def hold_file_lock():
    while True:
        time.sleep(0.5)
        with open(f"{FOLDER}/lock", "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            begin = time.monotonic()
            time.sleep(0.15)
        log(begin)


def ask_behind():
    """Another server, which takes its time."""
    with socket.create_connection(("127.0.0.1", PORT_BEHIND)) as one:
        one.recv(1)


def serve_behind(listener):
    while True:
        with listener.accept()[0] as one:
            time.sleep(0.1)
            one.sendall(b"x")


ACTS = {"behind": ask_behind, "child": lambda: subprocess.run(["sleep", "0.1"], check=True),
        "sleep": lambda: time.sleep(0.1), "fsync": sync, "major": major_faults, "minor": minor_faults}


def answer(connection):
    global count
    count += 1
    if CAUSE == "lock":
        with lock:
            pass
    elif CAUSE == "flock":
        file_lock()
    elif CAUSE in ACTS and count % EVERY == 0:
        begin = time.monotonic()
        ACTS[CAUSE]()
        log(begin)
    connection.sendall(ANSWER)


def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while connection.recv(4096):
        answer(connection)


def read_for_pool(listener):
    """One thread reads, four answer."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        while True:
            for one, _ in selector.select():
                if one.fileobj is listener:
                    selector.register(listener.accept()[0], selectors.EVENT_READ)
                elif one.fileobj.recv(4096):
                    pool.submit(answer, one.fileobj)
                else:
                    selector.unregister(one.fileobj)


def main():
    if CAUSE == "major":
        with open(f"{FOLDER}/pages", "wb") as out:
            out.write(os.urandom(FILE_BYTES))
            os.fsync(out.fileno())
    if CAUSE == "behind":
        listener = socket.create_server(("127.0.0.1", PORT_BEHIND))
        if os.fork() == 0:
            serve_behind(listener)
        listener.close()
    if CAUSE == "flock" and os.fork() == 0:
        hold_file_lock()
    if CAUSE == "lock":
        threading.Thread(target=hold, daemon=True).start()
    with socket.create_server(("127.0.0.1", PORT), backlog=200) as listener:
        if "pool" in sys.argv[6:]:
            read_for_pool(listener)
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    main()
