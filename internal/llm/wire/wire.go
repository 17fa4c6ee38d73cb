// Package wire is what the clients of all wire formats share: server-sent
// events, the request itself with its limits of silence, the sorting of
// vendors' errors into kinds, and request bodies that are encoded once.
//
// It knows HTTP and JSON and the ways in which vendors fail, but no vendor's
// messages: those belong to the packages beside it. A client is written so:
//
//	body, err := format.Encode(req, func(e wire.Encoded) []byte { … })
//	resp, err := wire.Post(ctx, httpClient, url, header, body, wire.Idle{})
//	if err != nil { return nil, err } // *llm.Error or ctx.Err()
//	defer resp.Close()
//	for {
//		ev, err := resp.Next()
//		if err == io.EOF { return nil, resp.Cut() } // unless the reply had ended
//		if err != nil { return nil, err }           // *llm.Error or ctx.Err()
//		… json.Unmarshal(ev.Data, &chunk) …         // failing: resp.Broken(err)
//		… an error inside the stream …              // resp.Fail(ev.Data)
//	}
//
// Parts of a reply that only their maker understands carry the provider's name
// and the model asked for (Request.Model, not the one that answered), and go
// back only where both match.
package wire
