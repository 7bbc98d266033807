package reports_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"reconciler/reports"
)

// browser starts a Chromium of its own.
func browser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:len(chromedp.DefaultExecAllocatorOptions):len(chromedp.DefaultExecAllocatorOptions)],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()))
	limited, cancelTime := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancelTime)
	allocator, cancelAllocator := chromedp.NewExecAllocator(limited, options...)
	t.Cleanup(cancelAllocator)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	return ctx
}

// observed is what a page did besides showing itself.
type observed struct {
	mu       sync.Mutex
	messages []string
	requests []string
}

func (o *observed) see(event any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		o.messages = append(o.messages, e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		o.messages = append(o.messages, "console call")
	case *runtime.EventExceptionThrown:
		o.messages = append(o.messages, e.ExceptionDetails.Text)
	case *cdppage.EventJavascriptDialogOpening:
		o.messages = append(o.messages, "dialog: "+e.Message)
	case *network.EventRequestWillBeSent:
		o.requests = append(o.requests, e.Request.URL)
	}
}

// show writes a report and opens it in the browser.
func show(ctx context.Context, t *testing.T, r reports.Report) *observed {
	t.Helper()
	dir := t.TempDir()
	if _, err := reports.WriteDir(dir, []string{"html"}, r); err != nil {
		t.Fatalf("WriteDir: %v", err)
	}
	seen := &observed{}
	if err := chromedp.Listen(ctx, seen.see); err != nil {
		t.Fatalf("start the browser (this test needs Chromium: apt-get install chromium): %v", err)
	}
	if err := chromedp.Do(ctx, chromedp.Navigate("file://"+filepath.Join(dir, "report.html"))); err != nil {
		t.Fatalf("open report: %v", err)
	}
	return seen
}

func evaluate[T any](ctx context.Context, t *testing.T, script string) T {
	t.Helper()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("evaluate %.60s: %v", script, err)
	}
	return got
}

func TestReportInABrowser(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	for name, r := range map[string]reports.Report{"rich": rich(t), "hostile": hostileReport()} {
		seen := show(ctx, t, r)
		if evaluate[bool](ctx, t, `document.querySelector("#verdict h2").checkVisibility()`) != true {
			t.Errorf("%s: the verdict is not visible", name)
		}
		// Whatever hostile text had become, it would stand here by now.
		strange := evaluate[[]string](ctx, t, `[...document.querySelectorAll("img,iframe,object,embed,form,link,base,script:not(:last-of-type),a:not([href^='#'])")].map(e => e.outerHTML)`)
		if len(strange) > 0 {
			t.Errorf("%s: elements that no report has: %q", name, strange)
		}
		handlers := evaluate[int](ctx, t, `[...document.querySelectorAll("*")].filter(e => [...e.attributes].some(a => a.name.startsWith("on"))).length`)
		if handlers > 0 {
			t.Errorf("%s: %d elements carry event handlers", name, handlers)
		}
		seen.mu.Lock()
		if len(seen.messages) > 0 {
			t.Errorf("%s: the console says %q", name, seen.messages)
		}
		if len(seen.requests) != 1 || !strings.HasPrefix(seen.requests[0], "file://") {
			t.Errorf("%s: requests %q, want the page alone", name, seen.requests)
		}
		seen.mu.Unlock()
	}
}

func TestFilterInABrowser(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	show(ctx, t, rich(t))
	const count = `[...document.querySelectorAll(".case")].filter(c => c.checkVisibility()).length`
	for _, step := range []struct {
		do   string
		want int
	}{
		{`0`, 8},
		{`q.value = "amount DIFFERS kwd"; q.dispatchEvent(new Event("input")); 0`, 1},
		{`q.value = ""; q.dispatchEvent(new Event("input")); f.click(); 0`, 2},
		{`f.click(); 0`, 8},
	} {
		evaluate[int](ctx, t, `{const q = document.querySelector(".tools input[type=search]"), f = document.querySelector(".tools input[type=checkbox]"); `+step.do+`}`)
		if got := evaluate[int](ctx, t, count); got != step.want {
			t.Errorf("after %s: %d cases are shown, want %d", step.do, got, step.want)
		}
	}
}

// TestReportOnAPhone: nothing sticks out to the side.
func TestReportOnAPhone(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	for name, r := range map[string]reports.Report{"rich": rich(t), "hostile": hostileReport(), "incomplete": incomplete(t)} {
		for _, width := range []int64{390, 768, 1024} {
			if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 844)); err != nil {
				t.Fatalf("EmulateViewport: %v", err)
			}
			show(ctx, t, r)
			if got := evaluate[int64](ctx, t, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("%s at %d pixels is %d wide", name, width, got)
			}
		}
	}
}

// TestReportContrast measures every text against its background (WCAG 2 AA:
// 4.5, large text 3), in the light and in the dark.
func TestReportContrast(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join("..", "testdata", "reports", "contrast.js"))
	if err != nil {
		t.Fatalf("read script: %v", err)
	}
	ctx := browser(t)
	for _, scheme := range []string{"light", "dark"} {
		show(ctx, t, rich(t))
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
		if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
			t.Fatalf("SetEmulatedMedia: %v", err)
		}
		for _, weak := range evaluate[[]string](ctx, t, string(script)) {
			t.Errorf("%s: %s", scheme, weak)
		}
	}
}
