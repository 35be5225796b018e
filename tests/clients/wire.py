"""HTTP by hand, for what no client library would send or notice: a connection, requests that may
be wrong, answers and events as they are on the wire."""

import asyncio
import json
import socket
import struct
import time


class Closed(Exception):
    """The server ended the connection."""


def request(path, body=None, method=None, headers=(), host="127.0.0.1", length=None):
    """The bytes of a request; a body that is no bytes is written as JSON."""
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    lines = [f"{method or ('GET' if body is None else 'POST')} {path} HTTP/1.1", f"Host: {host}"]
    lines += headers
    if body is not None:
        lines += ["Content-Type: application/json",
                  f"Content-Length: {len(body) if length is None else length}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


def chat_request(messages, **fields):
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    return request("/v1/chat/completions", {"model": fields.pop("model", "pebble"),
                                            "messages": messages, "temperature": 0, **fields})


def has_text(body):
    """Whether a stream has said something."""
    return b'"content":"' in body.replace(b'"content":""', b"")


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


class Line:
    """One connection, blocking; everything that is read waits `timeout` at most."""

    def __init__(self, port, timeout=60):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.kept = b""

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        try:
            data = self.socket.recv(65536)
        except (ConnectionError, BrokenPipeError) as e:
            raise Closed(str(e)) from e
        if not data:
            raise Closed("the end of the connection")
        self.kept += data

    def until(self, mark):
        while mark not in self.kept:
            self.more()
        part, self.kept = self.kept.split(mark, 1)
        return part

    def exactly(self, n):
        while len(self.kept) < n:
            self.more()
        part, self.kept = self.kept[:n], self.kept[n:]
        return part

    def head(self):
        """Status and headers of the next answer."""
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = {k.strip().lower(): v.strip()
                   for k, v in (line.split(":", 1) for line in lines[1:])}
        return int(lines[0].split()[1]), headers

    def chunks(self):
        while True:
            n = int(self.until(b"\r\n").split(b";")[0], 16)
            data = self.exactly(n)
            self.exactly(2)
            if n == 0:
                return
            yield data

    def answer(self):
        status, headers = self.head()
        while status == 100:
            status, headers = self.head()
        if headers.get("transfer-encoding") == "chunked":
            return Answer(status, headers, b"".join(self.chunks()))
        if "content-length" in headers:
            return Answer(status, headers, self.exactly(int(headers["content-length"])))
        try:
            while True:
                self.more()
        except Closed:
            return Answer(status, headers, self.kept)

    def ask(self, data):
        self.send(data)
        return self.answer()

    def ask_timed(self, data):
        """The answer, and seconds until its first text, or until all of it."""
        begin, first = time.monotonic(), None
        self.send(data)
        status, headers = self.head()
        if headers.get("transfer-encoding") != "chunked":
            body = self.exactly(int(headers["content-length"]))
            return Answer(status, headers, body), time.monotonic() - begin
        body = b""
        for part in self.chunks():
            body += part
            if first is None and has_text(body):
                first = time.monotonic() - begin
        return Answer(status, headers, body), first or time.monotonic() - begin

    def wait_text(self):
        """Until the stream has said something."""
        kept = b""
        for data in self.chunks():
            kept += data
            if has_text(kept):
                return kept
        return kept

    def close(self):
        self.socket.close()

    def reset(self):
        """Gone without a goodbye."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def events(body):
    """The values of a whole stream, which must end as one does."""
    parts = [p for p in body.decode().split("\n\n") if p and not p.startswith(":")]
    assert parts and parts[-1] == "data: [DONE]", f"the stream ends with {parts[-1:]}"
    return [json.loads(p.removeprefix("data: ")) for p in parts[:-1]]


def text_of(body, stream):
    """What was said, and why it ended."""
    if not stream:
        choice = json.loads(body)["choices"][0]
        return choice["message"]["content"], choice["finish_reason"]
    choices = [e["choices"][0] for e in events(body) if e["choices"]]
    return "".join(c["delta"].get("content") or "" for c in choices), choices[-1]["finish_reason"]


class AsyncLine:
    """One keep-alive connection of many in one thread."""

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, data):
        """The answer, and seconds until its first text, or until all of it."""
        begin, first = time.monotonic(), None
        self.writer.write(data)
        await self.writer.drain()
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {k.strip().lower(): v.strip()
                   for k, v in (line.split(":", 1) for line in head[1:] if line)}
        status = int(head[0].split()[1])
        if headers.get("transfer-encoding") != "chunked":
            body = await self.reader.readexactly(int(headers["content-length"]))
            return Answer(status, headers, body), time.monotonic() - begin
        body = b""
        while True:
            n = int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16)
            body += (await self.reader.readexactly(n + 2))[:n]
            if n == 0:
                return Answer(status, headers, body), first or time.monotonic() - begin
            if first is None and has_text(body):
                first = time.monotonic() - begin

    async def close(self):
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except OSError:
            pass
