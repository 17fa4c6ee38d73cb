// The page of roles.

import { Page } from "./page";
import { RoleList } from "./rolelist";

export default function RolesPage() {
  return (
    <Page title="Roles" note="The kinds of agent that can be given work. Add your own as .cadre/agents/NAME.md">
      <RoleList />
    </Page>
  );
}
