// A vendor under load: calls take time and half of them are refused. Nobody
// starves, chats share alike, and an orchestrator goes before all sub-agents.

package app

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/llm/catalogue"
	"github.com/cadre-dev/cadre/internal/llm/schedule"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/store"
)

// busy is a vendor whose calls take time. It refuses every second one by
// chance, half of these with Retry-After, but nobody more often in a row than
// told; and writes down when each began.
type busy struct {
	inRow   int
	took    func(*rand.Rand) time.Duration
	wait    time.Duration // what it asks refused callers to wait
	spawns  map[string]int
	reached chan struct{} // closed after half of all first requests

	mu       sync.Mutex
	rand     *rand.Rand
	inFlight int
	most     int
	refused  int
	begun    []begun
	row      map[string]int // refusals of an agent since its last reply
	firsts   map[string]bool
	half     int
}

// begun is a request on record.
type begun struct {
	at    time.Time
	chat  string
	agent string // its task; main for the orchestrator
	turn  int
	asked bool // of an orchestrator: the user asked for the state of things
}

func newBusy(spawns map[string]int, inRow int, wait time.Duration, took func(*rand.Rand) time.Duration) *busy {
	b := &busy{
		inRow: inRow, took: took, wait: wait, spawns: spawns, reached: make(chan struct{}),
		rand: rand.New(rand.NewPCG(1, 2)), row: map[string]int{}, firsts: map[string]bool{},
	}
	for _, n := range spawns {
		b.half += n / 2
	}
	return b
}

// said is a message of a request.
type said struct {
	Role    string `json:"role"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
}

var (
	partOf  = regexp.MustCompile(`part \d+ of (\w+)`)
	beginOf = regexp.MustCompile(`begin (\w+)`)
)

// read finds out who asks.
func read(system json.RawMessage, messages []said) begun {
	r := begun{at: time.Now(), agent: "main", turn: 1}
	for _, m := range messages {
		if m.Role == "assistant" {
			r.turn++
		}
		for _, c := range m.Content {
			if found := beginOf.FindStringSubmatch(c.Text); found != nil && r.chat == "" {
				r.chat = found[1]
			}
			if found := partOf.FindStringSubmatch(c.Text); found != nil && isChild(system) && r.chat == "" {
				r.agent, r.chat = found[0], found[1]
			}
			r.asked = r.asked || c.Text == "how far are you?"
		}
	}
	return r
}

func (b *busy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []said          `json:"messages"`
		System   json.RawMessage `json:"system"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	who := read(req.System, req.Messages)
	refuse, patient, took := b.begin(who)
	defer b.end()
	select {
	case <-time.After(took):
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if refuse {
		if patient {
			w.Header().Set("Retry-After-Ms", fmt.Sprint(b.wait.Milliseconds()))
		}
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`)
		return
	}
	content, stop := b.answer(who)
	fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[%s],"stop_reason":%q,"usage":{"input_tokens":10,"output_tokens":5}}`, content, stop)
}

// begin writes a request down and decides what becomes of it.
func (b *busy) begin(who begun) (refuse, patient bool, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun = append(b.begun, who)
	b.inFlight++
	b.most = max(b.most, b.inFlight)
	if who.agent != "main" && !b.firsts[who.agent] {
		b.firsts[who.agent] = true
		if len(b.firsts) == b.half {
			close(b.reached)
		}
	}
	key := who.chat + " " + who.agent
	if refuse = b.rand.IntN(2) == 0 && b.row[key] < b.inRow; refuse {
		b.refused++
		b.row[key]++
	} else {
		b.row[key] = 0
	}
	return refuse, b.refused%2 == 0, b.took(b.rand)
}

func (b *busy) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight--
}

// answer: an orchestrator starts its sub-agents, and each of them looks around
// before it answers.
func (b *busy) answer(who begun) (content, stop string) {
	use := func(name string, in any) (string, string) {
		input, _ := json.Marshal(in)
		return fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":%q,"input":%s}`, who.turn, name, input), "tool_use"
	}
	switch {
	case who.agent == "main" && who.turn == 1:
		tasks := make([]map[string]string, b.spawns[who.chat])
		for i := range tasks {
			tasks[i] = map[string]string{"task": fmt.Sprintf("part %d of %s", i+1, who.chat)}
		}
		return use("spawn_agents", map[string]any{"tasks": tasks})
	case who.agent != "main" && who.turn == 1:
		return use("Glob", map[string]string{"pattern": "*.go"})
	}
	return `{"type":"text","text":"done"}`, "end_turn"
}

// begin starts a chat of that name and returns its id and how its runs end.
func (l limited) begin(t *testing.T, name, dir string) (string, <-chan agent.Outcome) {
	t.Helper()
	c, err := l.performer.NewChat(orchestrate.Root{Role: "main", Model: "anthropic/claude-sonnet-4-5", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	c.User = store.User{ID: "u"}
	chat, err := l.engine.CreateChat(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	done, _ := l.engine.Outcomes(chat)
	say(t, l.engine, chat, "begin "+name)
	return chat, done
}

func say(t *testing.T, e *engine.Engine, chat, text string) {
	t.Helper()
	if err := e.Send(t.Context(), chat, "m-"+chat+text, message.Of(message.User, message.KindUser, text), nil); err != nil {
		t.Fatal(err)
	}
}

// allDone waits until every agent of a chat has ended well.
func allDone(t *testing.T, st store.Store, chat string, done <-chan agent.Outcome, want int) {
	t.Helper()
	for {
		if o := <-done; o.Reason != agent.ReasonCompleted {
			t.Fatalf("a run ended as %s", o.Reason)
		}
		tree, err := st.Tree(t.Context(), chat)
		if err != nil {
			t.Fatal(err)
		}
		over := 0
		for _, a := range tree[1:] {
			switch a.Status {
			case string(agent.ReasonCompleted):
				over++
			case string(agent.ReasonFailed), string(agent.ReasonTimeout):
				t.Errorf("%s ended as %s: %s", a.ID, a.Status, a.Error)
				over++
			}
		}
		if over == want && len(tree) == want+1 {
			return
		}
	}
}

// TestFairness: a thousand sub-agents of two chats that became ready at once.
func TestFairness(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const places = 40
		sizes := map[string]int{"large": 750, "small": 250}
		vendor := newBusy(sizes, 4, 500*time.Millisecond, func(r *rand.Rand) time.Duration {
			return 100*time.Millisecond + time.Duration(r.Int64N(int64(200*time.Millisecond)))
		})
		network := pipes{make(chan net.Conn)}
		server := &http.Server{Handler: vendor}
		go func() { _ = server.Serve(network) }() // ends with the network
		client := &http.Client{Transport: &http.Transport{DialContext: network.dial, MaxIdleConnsPerHost: 1024}}
		// News of waits come rarely, as they would be most of the events.
		l, st := newLimited(t, dir, vendorAt("http://vendor", client), schedule.New(schedule.Config{Start: places, Max: places, Refresh: time.Minute}))
		large, largeDone := l.begin(t, "large", work)
		small, smallDone := l.begin(t, "small", work)
		<-vendor.reached
		asked := time.Now()
		say(t, l.engine, large, "how far are you?")
		allDone(t, st, large, largeDone, sizes["large"])
		allDone(t, st, small, smallDone, sizes["small"])
		if vendor.most > places || vendor.refused < len(vendor.begun)*4/10 {
			t.Errorf("%d requests were under way at once, %d allowed; %d of %d refused", vendor.most, places, vendor.refused, len(vendor.begun))
		}
		checkFairness(t, vendor.begun, sizes)
		checkOrchestratorFirst(t, vendor.begun, asked)
		l.engine.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		client.CloseIdleConnections()
		close(network.conns)
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

func vendorAt(url string, client *http.Client) *catalogue.Catalogue {
	env := map[string]string{"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": url}
	return catalogue.New(catalogue.Options{Env: func(k string) string { return env[k] }, HTTP: client})
}

// checkFairness holds requests against what was promised.
func checkFairness(t *testing.T, all []begun, sizes map[string]int) {
	t.Helper()
	first, last := map[string]time.Time{}, map[string]time.Time{} // by agent
	var lastFirst, firstSecond time.Time
	starts := map[string]time.Time{} // of a chat: its first sub-agent's first request
	for _, r := range all {
		if r.agent == "main" {
			continue
		}
		if first[r.agent].IsZero() {
			first[r.agent] = r.at
			if r.chat == "large" {
				lastFirst = r.at
			}
			if starts[r.chat].IsZero() {
				starts[r.chat] = r.at
			}
		}
		if r.turn == 2 && r.chat == "large" && firstSecond.IsZero() {
			firstSecond = r.at
		}
		last[r.agent] = r.at
	}
	if n := sizes["large"] + sizes["small"]; len(first) != n {
		t.Errorf("%d of %d sub-agents made a request", len(first), n)
	}
	if lastFirst.After(firstSecond) {
		t.Errorf("an agent began its second turn at %v, before another had begun its first at %v", firstSecond.Sub(starts["large"]), lastFirst.Sub(starts["large"]))
	}
	for chat := range sizes {
		var ends []time.Duration
		for agent, at := range last {
			if strings.HasSuffix(agent, chat) {
				ends = append(ends, at.Sub(starts[chat]))
			}
		}
		slices.Sort(ends)
		median, longest := ends[len(ends)/2], ends[len(ends)-1]
		t.Logf("%s: the median agent made its last request after %v, the last one after %v", chat, median, longest)
		if longest > 2*median {
			t.Errorf("%s: one agent took until %v, the median %v", chat, longest, median)
		}
	}
	checkShares(t, all, starts, last)
}

// checkShares: while both chats have calls waiting, they get as many.
func checkShares(t *testing.T, all []begun, starts, last map[string]time.Time) {
	t.Helper()
	var until time.Time // the middle of the small chat's work: its queue is not empty before
	var ends []time.Time
	for agent, at := range last {
		if strings.HasSuffix(agent, "small") {
			ends = append(ends, at)
		}
	}
	slices.SortFunc(ends, time.Time.Compare)
	until = ends[len(ends)/4]
	from := starts["large"]
	if starts["small"].After(from) {
		from = starts["small"]
	}
	served := map[string]int{}
	for _, r := range all {
		if r.agent != "main" && !r.at.Before(from) && r.at.Before(until) {
			served[r.chat]++
		}
	}
	t.Logf("while both waited: %v", served)
	if a, b := served["large"], served["small"]; a < 100 || b < 100 || a*10 > b*13 || b*10 > a*13 {
		t.Errorf("while both chats waited, they were served %v times", served)
	}
}

// checkOrchestratorFirst: the orchestrator's call does not wait for those of its
// sub-agents that were there before.
func checkOrchestratorFirst(t *testing.T, all []begun, asked time.Time) {
	t.Helper()
	before := 0
	for _, r := range all {
		switch {
		case !r.at.After(asked):
		case r.agent == "main" && r.asked:
			t.Logf("%d requests of sub-agents came before the orchestrator's", before)
			if before > 4 { // the other chat's turn, and what had its place already
				t.Errorf("%d requests of sub-agents came before the orchestrator's", before)
			}
			return
		default:
			before++
		}
	}
	t.Error("the orchestrator was not heard again")
}

// TestFairnessOverTCP: the same on a real network and clock, with fewer agents.
func TestFairnessOverTCP(t *testing.T) {
	t.Parallel()
	const places, children = 8, 60
	vendor := newBusy(map[string]int{"small": children}, 1, 20*time.Millisecond, func(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(4 * time.Millisecond))) })
	server := httptest.NewServer(vendor)
	t.Cleanup(server.Close)
	quick := schedule.New(schedule.Config{
		Start: places, Max: places, FirstCoolDown: 5 * time.Millisecond, MaxCoolDown: 20 * time.Millisecond, Ramp: 5 * time.Millisecond, Refresh: newsOfWaits,
	})
	l, st := newLimited(t, t.TempDir(), vendorAt(server.URL, server.Client()), quick)
	t.Cleanup(func() {
		l.engine.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	chat, done := l.begin(t, "small", t.TempDir())
	allDone(t, st, chat, done, children)
	vendor.mu.Lock()
	defer vendor.mu.Unlock()
	if vendor.most > places || vendor.refused < len(vendor.begun)/5 || len(vendor.firsts) != children {
		t.Errorf("%d requests at once, %d allowed; %d of %d refused; %d agents", vendor.most, places, vendor.refused, len(vendor.begun), len(vendor.firsts))
	}
}
