// What a window shows that is not signed in.

import { useState } from "react";
import { api, Problem } from "../api/client";
import { reason, start } from "../state/load";
import { Button } from "../ui/kit";

const Command = ({ children }: { children: string }) => (
  <code className="rounded border border-line bg-surface px-1 font-mono text-small whitespace-nowrap">{children}</code>
);

export function SignIn() {
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState("");
  const enter = async () => {
    try {
      await api.signIn(token.trim());
      await start();
    } catch (err) {
      setWrong(err instanceof Problem && err.status === 401 ? "This token is not known, or was revoked." : reason(err));
    }
  };
  return (
    <main className="mx-auto max-w-md px-4 pt-[16vh]">
      <img src="/icon.svg" alt="" className="size-9" />
      <h1 className="mt-4 text-xl font-semibold tracking-tight">Sign in to Cadre</h1>
      <p className="mt-3 text-row text-soft">
        On the machine where it runs, <Command>cadre open</Command> opens this page signed in. The address that{" "}
        <Command>cadre serve</Command> printed does so once.
      </p>
      <form
        className="mt-6"
        onSubmit={(e) => {
          e.preventDefault();
          void enter();
        }}
      >
        <label htmlFor="token" className="text-row">
          Or use a token of <Command>cadre tokens create</Command>
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
          <p role="alert" className="mt-3 rounded-md border border-line bg-red-wash px-3 py-2 text-row">
            {wrong}
          </p>
        )}
      </form>
    </main>
  );
}
