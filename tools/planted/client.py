"""An open-loop client of its own, so that no figure of the oracle comes from what is judged.

`client.py PORT CONNECTIONS RATE SECONDS TAIL` with the request on stdin writes (sent, received), by
CLOCK_MONOTONIC, as JSON. An answer is over where it ends with TAIL.
"""

import collections
import json
import selectors
import socket
import struct
import sys
import time

LAST_WAIT_S = 3


def postgresql_hello(one):
    names = b"user\0postgres\0database\0postgres\0\0"
    one.sendall(struct.pack(">II", 8 + len(names), 196608) + names)
    seen = b""
    while not seen.endswith(b"Z\0\0\0\5I"):
        seen += one.recv(4096)


def connect(port, is_postgresql):
    one = socket.create_connection(("127.0.0.1", port), 5)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if is_postgresql:
        postgresql_hello(one)
    one.setblocking(False)
    return one


def drive(connections, request, rate, seconds, tail):
    """Sends a request at each moment that is due, on an idle connection; those that find none wait."""
    selector = selectors.DefaultSelector()
    for one in connections:
        selector.register(one, selectors.EVENT_READ)
    idle, seen, sent, done = collections.deque(connections), {}, {}, []
    begin = time.monotonic()
    due, count = begin, int(rate * seconds)
    while count or sent:
        now = time.monotonic()
        if now > begin + seconds + LAST_WAIT_S:
            break
        while count and now >= due and idle:
            one = idle.popleft()
            sent[one], seen[one] = time.monotonic(), b""
            one.send(request)
            due, count = due + 1 / rate, count - 1
        pause = max(0, due - now) if count and idle else 0.1
        for key, _ in selector.select(pause):
            one = key.fileobj
            seen[one] = seen.get(one, b"") + one.recv(65536)
            if one in sent and seen[one].endswith(tail):
                done.append((sent.pop(one), time.monotonic()))
                idle.append(one)
    return done


def main():
    port, count, rate, seconds, tail = sys.argv[1:]
    tail = bytes.fromhex(tail)
    request = sys.stdin.buffer.read()
    connections = [connect(int(port), tail.startswith(b"Z")) for _ in range(int(count))]
    json.dump(drive(connections, request, float(rate), float(seconds), tail), sys.stdout)


if __name__ == "__main__":
    main()
