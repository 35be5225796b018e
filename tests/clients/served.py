"""`vug serve` as a child: started on a free port, looked at, ended."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEY = "a-key-of-the-tests"


def build_folder():
    return os.path.abspath(os.environ.get("VUG_BUILD") or os.path.join(ROOT, "build"))


class Served:
    """A server with pebble. `args` are further options, `before` words before the command;
    its stderr is passed through unless `quiet`."""

    def __init__(self, *args, program=None, model=None, key=None, start_s=120, quiet=False,
                 before=()):
        program = program or os.path.join(build_folder(), "vug")
        model = model or os.path.join(ROOT, "models", "pebble")
        command = [*before, program, "serve", model, "--port", "0", *args]
        if key:
            command += ["--api-key", key]
        if not os.access(program, os.X_OK):
            raise SystemExit(f"{program} is not there: run make, or say where with --program")
        self.key = key
        self.program = program
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL if quiet else None)
        self.pid = self.process.pid
        watchdog = threading.Timer(start_s, self.process.kill)
        watchdog.start()
        self.url = None
        for line in self.process.stdout:
            if "listening on http" in line:
                self.url = line.split("listening on ", 1)[1].split()[0]
                break
        watchdog.cancel()
        if not self.url:
            raise SystemExit(f"{command[0]} serve ended with {self.process.wait()} before it listened")
        self.port = int(self.url.rsplit(":", 1)[1].strip("/"))
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        self.wait_ready(start_s)

    def wait_ready(self, seconds):
        end = time.monotonic() + seconds
        while True:
            try:
                with urllib.request.urlopen(self.url + "/health", timeout=10):
                    return
            except urllib.error.HTTPError as e:
                if e.code != 503 or time.monotonic() > end:
                    raise
            time.sleep(0.02)

    def get(self, path, timeout=60):
        request = urllib.request.Request(self.url + path)
        if self.key:
            request.add_header("Authorization", "Bearer " + self.key)
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.read().decode()

    def model(self):
        return json.loads(self.get("/v1/models"))["data"][0]["id"]

    def resident(self):
        """Resident bytes, or None where the system does not say."""
        try:
            with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
                for line in f:
                    if line.startswith("VmRSS:"):
                        return int(line.split()[1]) * 1024
        except OSError:
            pass
        return None

    def stop(self, seconds=60):
        """The exit status; None if it had to be killed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Tally:
    """The line of each case and the last line of all."""

    def __init__(self, width=14):
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.width = width

    def say(self, group, name, result, why=""):
        self.counts[result] += 1
        shown = "ok" if result == "passed" else result.upper() if result == "failed" else result
        print(f"{group:{self.width}} {name:58} {shown}")
        if why:
            print("".join(f"    | {line}\n" for line in why.splitlines()), end="")
        sys.stdout.flush()

    def end(self):
        c = self.counts
        print(f"{c['passed']} passed, {c['failed']} failed, {c['skipped']} skipped")
        return 1 if c["failed"] else 0
