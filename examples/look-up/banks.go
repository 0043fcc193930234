// Package banks finds banks by code or ISPB in a service of yours. One conditional request per CACHE_TTL keeps the list
// current.
package banks

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"
)

type Bank struct{ Code, ISPB, Name string }

type Banks struct {
	url, file, etag string
	leastWait       time.Duration
	byKey           atomic.Pointer[map[string]Bank]
}

// ErrNoList says that there is no list of banks yet, which is not the same as no such bank.
var ErrNoList = errors.New("there is no list of banks: the service has not given one, and the file has none")

var client = http.Client{Timeout: 10 * time.Second}
var ttl = regexp.MustCompile(`ttl=(\d+)`)

// Open starts from the list in file, which keeps the last one; on day 0 it is one that came with the program, if there is
// one. It asks no more often than every leastWait, such as time.Minute.
func Open(url, file string, leastWait time.Duration) *Banks {
	banks := &Banks{url: url, file: file, leastWait: leastWait}
	wait := time.Duration(0)
	if text, err := os.ReadFile(file); err != nil || banks.use(text) != nil {
		wait = banks.refresh()
	}
	go func() {
		for {
			time.Sleep(wait)
			wait = banks.refresh()
		}
	}()
	return banks
}

// Find finds a bank by its code or ISPB. The error is ErrNoList.
func (banks *Banks) Find(codeOrISPB string) (Bank, bool, error) {
	byKey := banks.byKey.Load()
	if byKey == nil {
		return Bank{}, false, ErrNoList
	}
	bank, found := (*byKey)[codeOrISPB]
	return bank, found, nil
}

func (banks *Banks) use(text []byte) error {
	var list []Bank
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	if list == nil {
		return ErrNoList
	}
	byKey := make(map[string]Bank, 2*len(list))
	for _, bank := range list {
		byKey[bank.Code], byKey[bank.ISPB] = bank, bank
	}
	banks.byKey.Store(&byKey)
	return nil
}

// refresh asks once, and returns the time until the list will have been renewed, or the service wants to be asked again.
func (banks *Banks) refresh() time.Duration {
	request, err := http.NewRequest("GET", banks.url, nil)
	if err != nil {
		return banks.leastWait
	}
	if banks.etag != "" {
		request.Header.Set("If-None-Match", banks.etag)
	}
	response, err := client.Do(request)
	if err != nil {
		return banks.leastWait
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode == 200 && err == nil && banks.use(text) == nil {
		banks.etag = response.Header.Get("ETag")
		// Never half written: the next start reads it. Without it that only lacks a list.
		if os.WriteFile(banks.file+".new", text, 0o600) == nil {
			_ = os.Rename(banks.file+".new", banks.file)
		}
	}
	wait := response.Header.Get("Retry-After")
	if found := ttl.FindStringSubmatch(response.Header.Get("Cache-Status")); found != nil {
		wait = found[1]
	}
	seconds, _ := strconv.Atoi(wait)
	if asked := time.Duration(seconds) * time.Second; asked > banks.leastWait {
		return asked
	}
	return banks.leastWait
}
