// What a window shows that is not signed in.

import { useState } from "react";
import { api } from "../api/client";
import { reason, start } from "../state/load";
import { Button } from "../ui/kit";

export function SignIn() {
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState("");
  const enter = async () => {
    try {
      await api.signIn(token.trim());
      await start();
    } catch (err) {
      setWrong(reason(err));
    }
  };
  return (
    <main className="mx-auto max-w-md px-4 pt-24">
      <h1 className="text-xl font-semibold">Sign in to Cadre</h1>
      <p className="mt-4 text-row text-soft">
        On the machine where it runs, <code>cadre open</code> opens this page signed in. The address that <code>cadre serve</code> printed
        does so once.
      </p>
      <form
        className="mt-6"
        onSubmit={(e) => {
          e.preventDefault();
          void enter();
        }}
      >
        <label htmlFor="token" className="text-row">
          Or use a token of <code>cadre tokens create</code>
        </label>
        <div className="mt-2 flex gap-2">
          <input
            id="token"
            type="password"
            autoComplete="off"
            value={token}
            onChange={(e) => setToken(e.target.value)}
            className="h-8 min-w-0 flex-1 rounded-md border border-line bg-canvas px-2 text-row"
          />
          <Button look="primary" type="submit" disabled={token.trim() === ""}>
            Sign in
          </Button>
        </div>
        {wrong && (
          <p role="alert" className="mt-3 rounded-md bg-red-wash px-3 py-2 text-row">
            {wrong}
          </p>
        )}
      </form>
    </main>
  );
}
