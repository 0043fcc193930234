"""Finds banks by code or ISPB in a service of yours. One conditional request per CACHE_TTL keeps the list current."""

import json
import os
import re
import threading
import time
import urllib.error
import urllib.request


class NoList(Exception):
    """There is no list of banks yet, which is not the same as no such bank."""


class Banks:
    """`file` keeps the last list for the next start; on day 0 it is one that came with the program, if there is one."""

    def __init__(self, url, file, least_wait=60):
        self._url, self._file, self._least_wait = url, file, least_wait
        self._banks, self._etag = None, None
        try:
            with open(file, encoding="utf-8") as saved:
                self._use(saved.read())
        except (OSError, ValueError, TypeError, KeyError):
            pass  # Absent or damaged: the first list that the service gives replaces it.
        first = self._ask() if self._banks is None else 0
        threading.Thread(target=self._keep_current, args=[first], daemon=True).start()

    def find(self, code_or_ispb):
        """The bank, or None. Raises NoList."""
        if self._banks is None:
            raise NoList(f"there is no list of banks: {self._url} has not given one, and {self._file} has none")
        return self._banks.get(code_or_ispb)

    def _use(self, text):
        banks = json.loads(text)
        if not isinstance(banks, list):
            raise ValueError("this is no list of banks")
        self._banks = {bank[key]: bank for bank in banks for key in ("code", "ispb")}

    def _refresh(self):
        """Asks once. Returns seconds until the list will have been renewed, or the service wants to be asked again."""
        request = urllib.request.Request(self._url, headers={"If-None-Match": self._etag} if self._etag else {})
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                headers, text = response.headers, response.read().decode()
            self._use(text)
            self._etag = headers["ETag"]
            # Never half written: the next start reads it.
            with open(self._file + ".new", "w", encoding="utf-8") as saved:
                saved.write(text)
            os.replace(self._file + ".new", self._file)
        except urllib.error.HTTPError as error:  # 304 too
            headers = error.headers
        ttl = re.search(r"ttl=(\d+)", headers["Cache-Status"] or "")
        return int(ttl[1] if ttl else headers["Retry-After"] or 0)

    def _ask(self):
        try:
            return max(self._refresh(), self._least_wait)
        except (OSError, ValueError, TypeError, KeyError):
            return self._least_wait

    def _keep_current(self, wait):
        while True:
            time.sleep(wait)
            wait = self._ask()
