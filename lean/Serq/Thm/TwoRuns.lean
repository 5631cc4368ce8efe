import Serq.Thm.ServeBatch
import Serq.Thm.Work
/-!
# Programs of two runs

The papers' serving systems run one kind of session: it notes its arrival, is prefilled, is decoded, and
notes its response, on an engine without pools. For such a program the state of a path is known: where
every session stands, that the engine's jobs are exactly what sessions at the engine have left, and that
the batch is made of them. The amounts may have any property that arrivals give and iterations keep.
-/

namespace Serq.TwoRuns

/-- What such a program leaves open: the attribute in which the arrival is noted and with what, the two
amounts of work, and what is observed at the end. -/
structure Params where
  a : Nat
  t0 : Expr
  work1 : Expr
  work2 : Expr
  o : Nat
  value : Expr

/-- After the decode. -/
def rest4 (p : Params) : Block := .Observe p.o p.value .End

/-- From the decode on. -/
def rest3 (p : Params) : Block := .Run { base := 0 } .Decode p.work2 none (rest4 p)

/-- From the prefill on. -/
def rest2 (p : Params) : Block := .Run { base := 0 } .Prefill p.work1 none (rest3 p)

/-- After the arrival has been noted. -/
def rest1 (p : Params) : Block := .Turn (rest2 p)

/-- The whole program. -/
def prog (p : Params) : Block := .Set p.a p.t0 (rest1 p)

/-- Where a session stands: what it has still to run, and what it does. -/
inductive Place (p : Params) : Block → Status → Prop
  | unborn : Place p (prog p) .unborn
  | arrived : Place p (prog p) .ready
  | noted : Place p (rest1 p) .ready
  | turned : Place p (rest2 p) .ready
  | prefilling : Place p (rest3 p) .engine
  | prefilled : Place p (rest3 p) .ready
  | decoding : Place p (rest4 p) .engine
  | decoded : Place p (rest4 p) .ready
  | observed : Place p .End .ready
  | ended : Place p .Done .ended

/-- What is asked of the deployment and of the amounts: no pools, one engine, admission order; `A` of a
session's attributes is kept by what the program writes and gives `J` of the jobs' modes and work;
tokens with `B` keep `J`. -/
structure Setting (D : Deployment) (p : Params) (A : Array Nat → Prop) (J : Mode → Nat → Prop)
    (B : Mode → Nat → Prop) : Prop where
  pools : D.pools = []
  stages : D.stages = [.Step]
  serve : D.serve = []
  keepNote : ∀ x v, A x → A (Arr.put x p.a v)
  keepTurn : ∀ x v, A x → A (Arr.put x D.slotTurn v)
  prefill : ∀ env : Env, A env.attrs → J .Prefill (p.work1.eval env)
  decode : ∀ env : Env, A env.attrs → J .Decode (p.work2.eval env)
  tokens : ∀ mode left t, J mode left → B mode t → J mode (left - t)

variable {D : Deployment} {p : Params} {A : Array Nat → Prop} {J B : Mode → Nat → Prop}

/-- A session of such a program. -/
structure SessOk (p : Params) (A : Array Nat → Prop) (s : Sess) : Prop where
  stack : s.stack = []
  turns : s.turns = none
  place : Place p s.prog s.status
  attrs : A s.attrs

/-- A job of such a program: its session is at the engine, in the run that the job's mode says. -/
structure JobOk (p : Params) (J : Mode → Nat → Prop) (m : Machine) (j : Job) : Prop where
  owner : j.owner < m.sess.size
  growing : j.growing = none
  left : 0 < j.left
  amount : J j.mode j.left
  status : (m.at_ j.owner).status = .engine
  run : (j.mode = .Prefill ∧ (m.at_ j.owner).prog = rest3 p) ∨
    (j.mode = .Decode ∧ (m.at_ j.owner).prog = rest4 p)

/-- An entry of the running batch belongs to a job. -/
def EntryOk (B : Mode → Nat → Prop) (m : Machine) (e : Entry) : Prop :=
  ∃ j ∈ m.jobs, j.owner = e.owner ∧ j.mode = e.mode ∧ e.ends = (j.left == e.tokens) ∧
    B e.mode e.tokens

/-- The entries of a batch belong to different sessions. -/
def DistinctEntries : List Entry → Prop
  | [] => True
  | e :: es => (∀ x ∈ es, x.owner ≠ e.owner) ∧ DistinctEntries es

/-- How many arrivals are pending. -/
def pendingArrivals (c : Clock) : Nat := (if c.arrival.isSome then 1 else 0) + c.gaps.length

/-- The state of a path of such a program. -/
structure Inv (p : Params) (A : Array Nat → Prop) (J B : Mode → Nat → Prop) (m : Machine) : Prop where
  sess : ∀ i, i < m.sess.size → SessOk p A (m.at_ i)
  nodup : m.ready.Nodup
  ready : ∀ i ∈ m.ready, i < m.sess.size ∧ (m.at_ i).status = .ready
  jobs : ∀ j ∈ m.jobs, JobOk p J m j
  owners : DistinctOwners m.jobs
  dues : m.dues = []
  batch : ∀ e ∈ m.plan.batch, EntryOk B m e
  entries : DistinctEntries m.plan.batch
  idle : m.clock.iterEnd = none → m.plan.batch = []
  born : ∀ i, i < m.sess.size → ((m.at_ i).status = .unborn ↔ m.clock.arrived ≤ i)
  coming : pendingArrivals m.clock + m.clock.arrived ≤ m.sess.size

/-! ## Small steps -/

/-- A machine that agrees in what the invariant reads. -/
theorem Inv.of_eq {m m' : Machine} (h : Inv p A J B m) (hs : m'.sess = m.sess)
    (hr : m'.ready = m.ready) (hj : m'.jobs = m.jobs) (hd : m'.dues = m.dues)
    (hb : m'.plan.batch = m.plan.batch) (hc : m'.clock = m.clock) : Inv p A J B m' := by
  have hat : ∀ i, m'.at_ i = m.at_ i := fun i => by simp [Machine.at_, hs]
  refine ⟨?_, ?_, ?_, ?_, ?_, ?_, ?_, ?_, ?_, ?_, ?_⟩
  · intro i hi; rw [hat]; exact h.sess i (by rwa [hs] at hi)
  · rw [hr]; exact h.nodup
  · intro i hi; rw [hat, hs]; exact h.ready i (by rwa [hr] at hi)
  · intro j hj'
    obtain ⟨h1, h2, h3, h4, h5, h6⟩ := h.jobs j (by rwa [hj] at hj')
    exact ⟨by rwa [hs], h2, h3, h4, by rwa [hat], by rwa [hat]⟩
  · rw [hj]; exact h.owners
  · rw [hd]; exact h.dues
  · intro e he
    rw [hb] at he
    obtain ⟨j, hj', h'⟩ := h.batch e he
    exact ⟨j, by rwa [hj], h'⟩
  · rw [hb]; exact h.entries
  · rw [hc, hb]; exact h.idle
  · intro i hi; rw [hat, hc]; exact h.born i (by rwa [hs] at hi)
  · rw [hc, hs]; exact h.coming

/-- The session after its change, and every other as it was. -/
theorem at_mod_self {m : Machine} {i : Nat} (hi : i < m.sess.size) (f : Sess → Sess) :
    (m.modSess i f).at_ i = f (m.at_ i) := by
  rw [at_modSess, if_pos ⟨rfl, hi⟩]

/-- Every other session is as it was. -/
theorem at_mod_other {m : Machine} {i j : Nat} (h : i ≠ j) (f : Sess → Sess) :
    (m.modSess i f).at_ j = m.at_ j := by
  rw [at_modSess, if_neg (fun h' => h h'.1)]

/-- A session that is ready, or at the engine without a job, changes into another place. -/
theorem Inv.modSess {m : Machine} (h : Inv p A J B m) {i : Nat} (hi : i < m.sess.size)
    (hjobs : ∀ j ∈ m.jobs, j.owner ≠ i) (f : Sess → Sess) (hf : SessOk p A (f (m.at_ i)))
    (hborn : (f (m.at_ i)).status = .unborn ↔ m.clock.arrived ≤ i)
    (hready : i ∈ m.ready → (f (m.at_ i)).status = .ready) : Inv p A J B (m.modSess i f) := by
  have hsz : (m.modSess i f).sess.size = m.sess.size := by simp [Machine.modSess]
  refine ⟨?_, h.nodup, ?_, ?_, h.owners, h.dues, ?_, h.entries, h.idle, ?_, ?_⟩
  · intro k hk
    by_cases hki : i = k
    · subst hki; rw [at_mod_self hi]; exact hf
    · rw [at_mod_other hki]; exact h.sess k (by rwa [hsz] at hk)
  · intro k hk
    rw [hsz]
    by_cases hki : i = k
    · subst hki; rw [at_mod_self hi]; exact ⟨hi, hready hk⟩
    · rw [at_mod_other hki]; exact h.ready k hk
  · intro j hj
    obtain ⟨h1, h2, h3, h4, h5, h6⟩ := h.jobs j hj
    have hne : i ≠ j.owner := fun h' => hjobs j hj h'.symm
    refine ⟨by rwa [hsz], h2, h3, h4, ?_, ?_⟩
    · rw [at_mod_other hne]; exact h5
    · rw [at_mod_other hne]; exact h6
  · exact h.batch
  · intro k hk
    by_cases hki : i = k
    · subst hki; rw [at_mod_self hi]; exact hborn
    · rw [at_mod_other hki]; exact h.born k (by rwa [hsz] at hk)
  · rw [hsz]; exact h.coming

/-- A ready session owns no job. -/
theorem Inv.no_job {m : Machine} (h : Inv p A J B m) {i : Nat} (hs : (m.at_ i).status ≠ .engine) :
    ∀ j ∈ m.jobs, j.owner ≠ i := by
  intro j hj he
  have := (h.jobs j hj).status
  rw [he] at this
  exact hs this

/-- A session that is not unborn has arrived. -/
theorem Inv.arrived {m : Machine} (h : Inv p A J B m) {i : Nat} (hi : i < m.sess.size)
    (hs : (m.at_ i).status ≠ .unborn) : ¬ m.clock.arrived ≤ i :=
  fun h' => hs ((h.born i hi).mpr h')

/-- A ready session goes on to another place. -/
theorem Inv.step {m : Machine} (h : Inv p A J B m) {i : Nat} (hi : i < m.sess.size)
    (hs : (m.at_ i).status = .ready) (hn : i ∉ m.ready) (f : Sess → Sess)
    (hf : SessOk p A (f (m.at_ i))) (hu : (f (m.at_ i)).status ≠ .unborn) :
    Inv p A J B (m.modSess i f) :=
  h.modSess hi (h.no_job (by rw [hs]; simp)) f hf
    ⟨fun h' => absurd h' hu, fun h' => absurd h' (h.arrived hi (by rw [hs]; simp))⟩
    (fun h' => absurd h' hn)

/-- Different owners stay different when a job of another session is inserted. -/
theorem distinct_insertJob {j : Job} {js : List Job} (h : DistinctOwners js)
    (hn : ∀ x ∈ js, x.owner ≠ j.owner) : DistinctOwners (insertJob j js) := by
  induction js with
  | nil => exact ⟨by simp, trivial⟩
  | cons x js ih =>
    unfold insertJob
    split
    · refine ⟨?_, ih h.2 fun y hy => hn y (by simp [hy])⟩
      intro y hy
      rcases (mem_insertJob _ _ _).mp hy with rfl | hy
      · exact fun h' => hn x (by simp) h'.symm
      · exact h.1 y hy
    · exact ⟨fun y hy => hn y hy, h⟩

/-- A job of a session that has none is added. -/
theorem Inv.addJob {m : Machine} (h : Inv p A J B m) {j : Job} (hj : JobOk p J m j)
    (hn : ∀ x ∈ m.jobs, x.owner ≠ j.owner) :
    Inv p A J B { m with jobs := insertJob j m.jobs } := by
  refine ⟨h.sess, h.nodup, h.ready, ?_, distinct_insertJob h.owners hn, h.dues, ?_, h.entries, h.idle,
    h.born, h.coming⟩
  · intro x hx
    rcases (mem_insertJob _ _ _).mp hx with rfl | hx
    · exact ⟨hj.owner, hj.growing, hj.left, hj.amount, hj.status, hj.run⟩
    · obtain ⟨h1, h2, h3, h4, h5, h6⟩ := h.jobs x hx
      exact ⟨h1, h2, h3, h4, h5, h6⟩
  · intro e he
    obtain ⟨x, hx, hx'⟩ := h.batch e he
    exact ⟨x, (mem_insertJob _ _ _).mpr (Or.inr hx), hx'⟩

/-- A ready session joins the ready ones. -/
theorem Inv.addReady {m : Machine} (h : Inv p A J B m) {i : Nat} (hi : i < m.sess.size)
    (hs : (m.at_ i).status = .ready) (hn : i ∉ m.ready) :
    Inv p A J B { m with ready := m.ready ++ [i] } := by
  refine ⟨h.sess, ?_, ?_, ?_, h.owners, h.dues, h.batch, h.entries, h.idle, h.born, h.coming⟩
  · rw [List.nodup_append]
    refine ⟨h.nodup, by simp, ?_⟩
    intro a ha b hb
    rw [List.mem_singleton.mp hb]
    exact fun h' => hn (h' ▸ ha)
  · intro k hk
    rcases List.mem_append.mp hk with hk | hk
    · exact h.ready k hk
    · rw [List.mem_singleton.mp hk]
      exact ⟨hi, hs⟩
  · intro j hj
    obtain ⟨h1, h2, h3, h4, h5, h6⟩ := h.jobs j hj
    exact ⟨h1, h2, h3, h4, h5, h6⟩

/-! ## Commands -/

/-- What a session reads of itself. -/
theorem sessEnv_attrs (D : Deployment) (m : Machine) (i left : Nat) :
    (m.sessEnv D i left).attrs = (m.at_ i).attrs := rfl

/-- A run at the engine: the session yields, or it has a job. -/
theorem Inv.run (hS : Setting D p A J B) {m : Machine} (h : Inv p A J B m) {i : Nat}
    (hi : i < m.sess.size) (hs : (m.at_ i).status = .ready) (hn : i ∉ m.ready) (mode : Mode) (w : Nat)
    (k : Block) (hk : Place p k .ready ∧ Place p k .engine)
    (hrun : (mode = .Prefill ∧ k = rest3 p) ∨ (mode = .Decode ∧ k = rest4 p)) (hw : J mode w) :
    Inv p A J B
      (if w = 0 then
        { m.modSess i fun s => { s with prog := k } with
          ready := (m.modSess i fun s => { s with prog := k }).ready ++ [i] }
      else startRun D (m.modSess i fun s => { s with prog := k }) i 0 mode w none) := by
  have hso := h.sess i hi
  have h1 : Inv p A J B (m.modSess i fun s => { s with prog := k }) :=
    h.step hi hs hn _ ⟨hso.stack, hso.turns, by simp only [hs]; exact hk.1, hso.attrs⟩
      (by simp [hs])
  have hi1 : i < (m.modSess i fun s => { s with prog := k }).sess.size := by
    simpa [Machine.modSess] using hi
  have hat1 : (m.modSess i fun s => { s with prog := k }).at_ i = { m.at_ i with prog := k } :=
    at_mod_self hi _
  split
  · exact h1.addReady hi1 (by rw [hat1]; exact hs) hn
  · next hw0 =>
    have hstage : D.stage 0 = .Step := by simp [Deployment.stage, hS.stages, Lst.nth]
    unfold startRun
    simp only [hstage]
    have h2 := h1.step hi1 (by rw [hat1]; exact hs) hn (fun s => { s with status := .engine })
      ⟨by rw [hat1]; exact hso.stack, by rw [hat1]; exact hso.turns, by rw [hat1]; exact hk.2,
        by rw [hat1]; exact hso.attrs⟩ (by simp)
    have hat2 := at_mod_self hi1 (fun s => { s with status := .engine })
    refine h2.addJob ⟨?_, rfl, by simpa using Nat.pos_of_ne_zero hw0, hw, ?_, ?_⟩ ?_
    · simpa [Machine.modSess] using hi
    · simp only; rw [hat2]
    · simp only
      rw [hat2, hat1]
      exact hrun
    · exact h1.no_job (by rw [hat1]; simp [hs])

/-- Running the commands of a session. -/
theorem Inv.exec (hS : Setting D p A J B) {m : Machine} (h : Inv p A J B m) {i : Nat}
    (hi : i < m.sess.size) (hn : i ∉ m.ready) (fuel : Nat) : Inv p A J B (exec D fuel m i) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl rfl rfl rfl rfl
  | succ fuel ih =>
    have hso := h.sess i hi
    have hpl := hso.place
    unfold Serq.exec
    simp only
    split
    · next hs =>
      rw [hs] at hpl
      have hcont : ∀ (f : Sess → Sess), SessOk p A (f (m.at_ i)) → (f (m.at_ i)).status = .ready →
          Inv p A J B (Serq.exec D fuel (m.modSess i f) i) := by
        intro f hf hst
        refine ih (h.step hi hs hn f hf (by rw [hst]; simp)) ?_ hn
        simpa [Machine.modSess] using hi
      cases hp : (m.at_ i).prog with
      | Set slot e k =>
        rw [hp] at hpl
        have hk : slot = p.a ∧ k = rest1 p := by
          generalize hb : Block.Set slot e k = b at hpl
          generalize hr : Status.ready = r at hpl
          cases hpl <;> simp [prog, rest1, rest2, rest3, rest4] at hb hr
          exact ⟨hb.1, hb.2.2⟩
        obtain ⟨rfl, rfl⟩ := hk
        exact hcont _ ⟨hso.stack, hso.turns, by simp only [hs]; exact .noted,
          hS.keepNote _ _ hso.attrs⟩ hs
      | Turn k =>
        rw [hp] at hpl
        have hk : k = rest2 p := by
          generalize hb : Block.Turn k = b at hpl
          generalize hr : Status.ready = r at hpl
          cases hpl <;> simp [prog, rest1, rest2, rest3, rest4] at hb hr
          exact hb
        subst hk
        refine hcont _ ?_ ?_
        · unfold nextTurn
          simp only [hso.turns]
          exact ⟨hso.stack, rfl, by simp only [hs]; exact .turned, hS.keepTurn _ _ hso.attrs⟩
        · unfold nextTurn
          simp only [hso.turns, hs]
      | Run stage mode work growing k =>
        rw [hp] at hpl
        have hk : stage = { base := 0 } ∧ growing = none ∧
            ((mode = .Prefill ∧ work = p.work1 ∧ k = rest3 p) ∨
              (mode = .Decode ∧ work = p.work2 ∧ k = rest4 p)) := by
          generalize hb : Block.Run stage mode work growing k = b at hpl
          generalize hr : Status.ready = r at hpl
          cases hpl <;> simp [prog, rest1, rest2, rest3, rest4] at hb hr
          · exact ⟨hb.1, hb.2.2.2.1, Or.inl ⟨hb.2.1, hb.2.2.1, hb.2.2.2.2⟩⟩
          · exact ⟨hb.1, hb.2.2.2.1, Or.inr ⟨hb.2.1, hb.2.2.1, hb.2.2.2.2⟩⟩
        obtain ⟨rfl, rfl, hmode⟩ := hk
        simp only [evalRef, Ref.eval, Expr.eval, Nat.add_zero]
        rcases hmode with ⟨rfl, rfl, rfl⟩ | ⟨rfl, rfl, rfl⟩
        · exact h.run hS hi hs hn .Prefill _ _ ⟨.prefilled, .prefilling⟩ (Or.inl ⟨rfl, rfl⟩)
            (hS.prefill _ hso.attrs)
        · exact h.run hS hi hs hn .Decode _ _ ⟨.decoded, .decoding⟩ (Or.inr ⟨rfl, rfl⟩)
            (hS.decode _ hso.attrs)
      | Observe o e k =>
        rw [hp] at hpl
        have hk : k = .End := by
          generalize hb : Block.Observe o e k = b at hpl
          generalize hr : Status.ready = r at hpl
          cases hpl <;> simp [prog, rest1, rest2, rest3, rest4] at hb hr
          exact hb.2.2
        subst hk
        simp only
        have h1 := h.step hi hs hn (fun s => { s with prog := .End })
          ⟨hso.stack, hso.turns, by simp only [hs]; exact .observed, hso.attrs⟩ (by simp [hs])
        refine ih (m := { m.modSess i fun s => { s with prog := .End } with
          obs := _ }) (h1.of_eq rfl rfl rfl rfl rfl rfl) ?_ hn
        simpa [Machine.modSess] using hi
      | End =>
        simp only [endSession, hso.stack, releaseStack]
        exact h.step hi hs hn _ ⟨rfl, hso.turns, .ended, hso.attrs⟩ (by simp)
      | Done =>
        rw [hp] at hpl
        generalize hb : Block.Done = b at hpl
        generalize hr : Status.ready = r at hpl
        cases hpl <;> simp [prog, rest1, rest2, rest3, rest4] at hb hr
      | Hold pools reuse body cache k =>
        rw [hp] at hpl
        generalize hb : Block.Hold pools reuse body cache k = b at hpl
        cases hpl <;> simp [prog, rest1, rest2, rest3, rest4] at hb
      | Drop r k =>
        rw [hp] at hpl
        generalize hb : Block.Drop r k = b at hpl
        cases hpl <;> simp [prog, rest1, rest2, rest3, rest4] at hb
      | Release r k =>
        rw [hp] at hpl
        generalize hb : Block.Release r k = b at hpl
        cases hpl <;> simp [prog, rest1, rest2, rest3, rest4] at hb
      | Branch g a b' k =>
        rw [hp] at hpl
        generalize hb : Block.Branch g a b' k = b at hpl
        cases hpl <;> simp [prog, rest1, rest2, rest3, rest4] at hb
      | Loop body =>
        rw [hp] at hpl
        generalize hb : Block.Loop body = b at hpl
        cases hpl <;> simp [prog, rest1, rest2, rest3, rest4] at hb
      | While g body k =>
        rw [hp] at hpl
        generalize hb : Block.While g body k = b at hpl
        cases hpl <;> simp [prog, rest1, rest2, rest3, rest4] at hb
      | Choose v n ks k =>
        rw [hp] at hpl
        generalize hb : Block.Choose v n ks k = b at hpl
        cases hpl <;> simp [prog, rest1, rest2, rest3, rest4] at hb
    · exact h

/-- Running all ready sessions. -/
theorem Inv.drain (hS : Setting D p A J B) {m : Machine} (h : Inv p A J B m) (fuel : Nat) :
    Inv p A J B (drain D fuel m) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl rfl rfl rfl rfl
  | succ fuel ih =>
    unfold Serq.drain
    split
    · exact h
    · next i is hr =>
      have hnd := h.nodup
      rw [hr] at hnd
      have hin := h.ready i (by simp [hr])
      have h1 : Inv p A J B { m with ready := is } := by
        refine ⟨h.sess, ?_, ?_, ?_, h.owners, h.dues, h.batch, h.entries, h.idle, h.born, h.coming⟩
        · exact (List.nodup_cons.mp hnd).2
        · intro k hk; exact h.ready k (by simp [hr, hk])
        · intro j hj
          obtain ⟨h1, h2, h3, h4, h5, h6⟩ := h.jobs j hj
          exact ⟨h1, h2, h3, h4, h5, h6⟩
      exact ih (h1.exec hS hin.1 (List.nodup_cons.mp hnd).1 execFuel)

/-- Without pools nobody is admitted. -/
theorem admitAll_nil (h : D.pools = []) (m : Machine) : admitAll D m = m := by
  simp [admitAll, h, admitPools]

/-- Settling. -/
theorem Inv.settle (hS : Setting D p A J B) {m : Machine} (h : Inv p A J B m) (fuel : Nat) :
    Inv p A J B (settle D fuel m) := by
  induction fuel generalizing m with
  | zero => exact h.of_eq rfl rfl rfl rfl rfl rfl
  | succ fuel ih =>
    unfold Serq.settle
    simp only [admitAll_nil hS.pools]
    split
    · exact h.drain hS instantFuel
    · exact ih (h.drain hS instantFuel)

/-! ## Iterations -/

/-- An entry of the greedy batch is that of a resident. -/
theorem mem_fillBatch {m : Machine} {cap left : Nat} {js : List Job} {e : Entry}
    (h : e ∈ fillBatch D m cap left js) :
    ∃ j ∈ js, j.owner = e.owner ∧ j.mode = e.mode ∧ e.ends = (j.left == e.tokens) ∧
      e.tokens ≠ 0 := by
  induction js generalizing left with
  | nil => simp [fillBatch] at h
  | cons j js ih =>
    unfold fillBatch at h
    split at h
    · obtain ⟨x, hx, hx'⟩ := ih h
      exact ⟨x, by simp [hx], hx'⟩
    · next hne =>
      rcases List.mem_cons.mp h with rfl | h
      · exact ⟨j, by simp, rfl, rfl, rfl, hne⟩
      · obtain ⟨x, hx, hx'⟩ := ih h
        exact ⟨x, by simp [hx], hx'⟩

/-- Whom the predicate lets through is a resident. -/
theorem mem_letThrough {m : Machine} {js : List Job} {j : Job} (h : j ∈ letThrough D m js) :
    j ∈ js := by
  induction js with
  | nil => exact h
  | cons x js ih =>
    unfold letThrough at h
    split at h
    · exact List.mem_cons_of_mem _ (ih h)
    · rcases List.mem_cons.mp h with rfl | h
      · exact List.mem_cons_self
      · exact List.mem_cons_of_mem _ (ih h)

/-- Whom the predicate lets through are different sessions. -/
theorem distinct_letThrough {m : Machine} {js : List Job} (h : DistinctOwners js) :
    DistinctOwners (letThrough D m js) := by
  induction js with
  | nil => exact h
  | cons x js ih =>
    unfold letThrough
    split
    · exact ih h.2
    · exact ⟨fun y hy => h.1 y (mem_letThrough hy), ih h.2⟩

/-- The greedy batch of different residents has entries of different sessions. -/
theorem distinct_fillBatch {m : Machine} {cap left : Nat} {js : List Job} (h : DistinctOwners js) :
    DistinctEntries (fillBatch D m cap left js) := by
  induction js generalizing left with
  | nil => exact trivial
  | cons j js ih =>
    unfold fillBatch
    split
    · exact ih h.2
    · refine ⟨?_, ih h.2⟩
      intro e he
      obtain ⟨x, hx, hxe, _⟩ := mem_fillBatch he
      rw [← hxe]
      exact h.1 x hx

/-- The batch that an iteration starting now would have. -/
def batchOf (D : Deployment) (m : Machine) : List Entry :=
  fillBatch D m (chunkCap D m) D.budget (letThrough D m m.jobs)

/-- Nobody waits for the engine where there are no pools. -/
theorem no_queue (hp : D.pools = []) (m : Machine) : engineQueue m D.pools 0 = none := by
  rw [hp]
  rfl

/-- Starting an iteration. -/
theorem Inv.startIteration (hS : Setting D p A J B) {m : Machine} (h : Inv p A J B m)
    (hi : m.clock.iterEnd = none) (hB : ∀ e ∈ batchOf D m, B e.mode e.tokens) :
    Inv p A J B (startIteration D m) := by
  have hb := buildBatch_eq_fill hS.serve (chunkCap D m) hi (fun j hj => (h.jobs j hj).growing)
    (no_queue hS.pools m)
  have hbatch : ∀ e ∈ batchOf D m, EntryOk B m e := by
    intro e he
    obtain ⟨j, hj, h1, h2, h3, _⟩ := mem_fillBatch he
    exact ⟨j, mem_letThrough hj, h1, h2, h3, hB e he⟩
  have hdist : DistinctEntries (batchOf D m) := distinct_fillBatch (distinct_letThrough h.owners)
  rcases startIteration_cases D m with hs | ⟨hs, hnil, _⟩ | hs <;> rw [hs]
  · exact h
  · rw [hb] at hnil ⊢
    simp only at hnil
    refine ⟨h.sess, h.nodup, h.ready, ?_, h.owners, h.dues, ?_, ?_, ?_, h.born, h.coming⟩
    · intro j hj
      obtain ⟨h1, h2, h3, h4, h5, h6⟩ := h.jobs j hj
      exact ⟨h1, h2, h3, h4, h5, h6⟩
    · simp only [hnil]
      simp
    · simp only [hnil]
      trivial
    · intro _
      exact hnil
  · rw [hb]
    unfold beginIteration
    refine ⟨h.sess, h.nodup, h.ready, ?_, h.owners, h.dues, hbatch, hdist, ?_, h.born, h.coming⟩
    · intro j hj
      obtain ⟨h1, h2, h3, h4, h5, h6⟩ := h.jobs j hj
      exact ⟨h1, h2, h3, h4, h5, h6⟩
    · intro hn
      simp at hn

/-! ## Events -/

/-- The end of a batch, for its sessions, looks at nothing else. -/
theorem applyEntries_with (es : List Entry) (m : Machine) (l : List Job) (pl : Plan) (c : Clock) :
    applyEntries es { m with jobs := l, plan := pl, clock := c } =
      { applyEntries es m with jobs := l, plan := pl, clock := c } := by
  induction es generalizing m with
  | nil => rfl
  | cons e es ih =>
    unfold applyEntries applyEntry
    split
    · exact ih (wake m e.owner)
    · exact ih m

/-- A session at the engine whose job is gone wakes. -/
theorem Inv.wake {m : Machine} (h : Inv p A J B m) {i : Nat} (hi : i < m.sess.size)
    (hs : (m.at_ i).status = .engine) (hjobs : ∀ j ∈ m.jobs, j.owner ≠ i) :
    Inv p A J B (wake m i) := by
  have hso := h.sess i hi
  have hn : i ∉ m.ready := fun h' => by
    have := (h.ready i h').2
    rw [hs] at this
    simp at this
  have hpl : Place p (m.at_ i).prog .ready := by
    have hp := hso.place
    rw [hs] at hp
    generalize hr : Status.engine = r at hp
    generalize hb : (m.at_ i).prog = b at hp
    cases hp <;> simp at hr
    · exact .prefilled
    · exact .decoded
  have h1 := h.modSess hi hjobs (fun s => { s with status := .ready })
    ⟨hso.stack, hso.turns, hpl, hso.attrs⟩
    ⟨fun h' => by simp at h', fun h' => absurd h' (h.arrived hi (by rw [hs]; simp))⟩
    (fun h' => absurd h' hn)
  have hi1 : i < (m.modSess i fun s => { s with status := .ready }).sess.size := by
    simpa [Machine.modSess] using hi
  exact h1.addReady hi1 (by rw [at_mod_self hi]) hn

/-- The tokens of a session in a batch of different sessions are those of its entry. -/
theorem tokensOf_entry {es : List Entry} (h : DistinctEntries es) {e : Entry} (he : e ∈ es) :
    tokensOf e.owner es = e.tokens := by
  induction es with
  | nil => simp at he
  | cons x es ih =>
    rcases List.mem_cons.mp he with rfl | he
    · simp [tokensOf, tokensOf_absent h.1]
    · have hne : ¬ x.owner = e.owner := fun h' => h.1 e he h'.symm
      simp [tokensOf, hne, ih h.2 he]

/-- A job that an iteration leaves is one that it found, less its tokens. -/
theorem mem_unfinished {batch : List Entry} {js : List Job} {j : Job}
    (h : j ∈ unfinished (applyBatch batch js)) :
    ∃ x ∈ js, j = { x with left := x.left - tokensOf x.owner batch } ∧ j.left ≠ 0 := by
  induction js with
  | nil => simp [applyBatch, unfinished] at h
  | cons x js ih =>
    unfold applyBatch unfinished at h
    split at h
    · obtain ⟨y, hy, hy'⟩ := ih h
      exact ⟨y, by simp [hy], hy'⟩
    · next hne =>
      rcases List.mem_cons.mp h with rfl | h
      · exact ⟨x, by simp, rfl, hne⟩
      · obtain ⟨y, hy, hy'⟩ := ih h
        exact ⟨y, by simp [hy], hy'⟩

/-- The jobs that an iteration leaves belong to different sessions. -/
theorem distinct_unfinished {batch : List Entry} {js : List Job} (h : DistinctOwners js) :
    DistinctOwners (unfinished (applyBatch batch js)) := by
  induction js with
  | nil => exact h
  | cons x js ih =>
    unfold applyBatch unfinished
    split
    · exact ih h.2
    · refine ⟨?_, ih h.2⟩
      intro y hy
      obtain ⟨z, hz, rfl, _⟩ := mem_unfinished hy
      exact h.1 z hz

/-- Of different sessions' jobs, one session has one. -/
theorem distinct_unique {js : List Job} (h : DistinctOwners js) {x y : Job} (hx : x ∈ js) (hy : y ∈ js)
    (he : x.owner = y.owner) : x = y := by
  induction js with
  | nil => simp at hx
  | cons j js ih =>
    rcases List.mem_cons.mp hx with hxj | hxj
    · rcases List.mem_cons.mp hy with hyj | hyj
      · rw [hxj, hyj]
      · exact absurd (by rw [← hxj]; exact he.symm) (h.1 y hyj)
    · rcases List.mem_cons.mp hy with hyj | hyj
      · exact absurd (by rw [← hyj]; exact he) (h.1 x hxj)
      · exact ih h.2 hxj hyj

/-- The end of an iteration. -/
theorem Inv.endIteration (hS : Setting D p A J B) {m : Machine} (h : Inv p A J B m) :
    Inv p A J B (endIteration m) := by
  -- the machine with its jobs served, before the sessions wake
  have heq : Serq.endIteration m = applyEntries m.plan.batch { m with
      jobs := unfinished (applyBatch m.plan.batch m.jobs)
      plan := { m.plan with batch := [] }
      clock := { m.clock with iterEnd := none } } := by
    rw [applyEntries_with]
    have hs := same_applyEntries m.plan.batch m
    unfold Serq.endIteration
    simp only [hs.plan, hs.clock]
  have h0 : Inv p A J B { m with
      jobs := unfinished (applyBatch m.plan.batch m.jobs)
      plan := { m.plan with batch := [] }
      clock := { m.clock with iterEnd := none } } := by
    refine ⟨h.sess, h.nodup, h.ready, ?_, distinct_unfinished h.owners, h.dues, by simp, trivial,
      fun _ => rfl, h.born, h.coming⟩
    intro j hj
    obtain ⟨x, hx, rfl, hne⟩ := mem_unfinished hj
    obtain ⟨h1, h2, h3, h4, h5, h6⟩ := h.jobs x hx
    refine ⟨h1, h2, Nat.pos_of_ne_zero hne, ?_, h5, h6⟩
    simp only
    by_cases hbat : ∃ e ∈ m.plan.batch, e.owner = x.owner
    · obtain ⟨e, he, heo⟩ := hbat
      obtain ⟨y, hy, hyo, hym, _, hyB⟩ := h.batch e he
      have : y = x := distinct_unique h.owners hy hx (hyo.trans heo)
      have ht : tokensOf x.owner m.plan.batch = e.tokens := by
        rw [← heo]
        exact tokensOf_entry h.entries he
      rw [ht]
      rw [← this, hym] at h4 ⊢
      exact hS.tokens _ _ _ h4 hyB
    · rw [tokensOf_absent (fun e he heo => hbat ⟨e, he, heo⟩), Nat.sub_zero]
      exact h4
  rw [heq]
  -- the sessions wake one by one
  have hwake : ∀ (es : List Entry) (x : Machine), Inv p A J B x → DistinctEntries es →
      (∀ e ∈ es, e.ends = true → e.owner < x.sess.size ∧ (x.at_ e.owner).status = .engine ∧
        ∀ j ∈ x.jobs, j.owner ≠ e.owner) → Inv p A J B (applyEntries es x) := by
    intro es
    induction es with
    | nil => intro x hx _ _; exact hx
    | cons e es ih =>
      intro x hx hd hall
      unfold applyEntries applyEntry
      split
      · next hends =>
        obtain ⟨g1, g2, g3⟩ := hall e (by simp) hends
        refine ih _ (hx.wake g1 g2 g3) hd.2 ?_
        intro e' he' hends'
        obtain ⟨k1, k2, k3⟩ := hall e' (by simp [he']) hends'
        have hne : e.owner ≠ e'.owner := fun h' => hd.1 e' he' h'.symm
        refine ⟨by simpa [Serq.wake, Machine.modSess] using k1, ?_, k3⟩
        have : (Serq.wake x e.owner).at_ e'.owner =
            (x.modSess e.owner fun s => { s with status := .ready }).at_ e'.owner := rfl
        rw [this, at_mod_other hne]
        exact k2
      · exact ih x hx hd.2 fun e' he' => hall e' (by simp [he'])
  refine hwake m.plan.batch _ h0 h.entries ?_
  intro e he hends
  obtain ⟨y, hy, hyo, _, hye, _⟩ := h.batch e he
  obtain ⟨h1, _, _, _, h5, _⟩ := h.jobs y hy
  refine ⟨hyo ▸ h1, hyo ▸ h5, ?_⟩
  intro j hj hjo
  obtain ⟨x, hx, rfl, hne⟩ := mem_unfinished hj
  have hxy : x = y := distinct_unique h.owners hx hy (hjo.trans hyo.symm)
  subst hxy
  simp only at hne
  rw [hyo, tokensOf_entry h.entries he] at hne
  rw [hends] at hye
  have : x.left = e.tokens := by simpa using hye.symm
  omega

/-- An arrival. -/
theorem Inv.arrive {m : Machine} (h : Inv p A J B m) {t q : Nat}
    (ha : m.clock.arrival = some (t, q)) (hidle : m.clock.iterEnd = none → m.plan.batch = []) :
    Inv p A J B (arrive m) := by
  have hcoming := h.coming
  have hlt : m.clock.arrived < m.sess.size := by
    unfold pendingArrivals at hcoming
    rw [ha] at hcoming
    simp at hcoming
    omega
  have hun : (m.at_ m.clock.arrived).status = .unborn :=
    (h.born _ hlt).mpr (Nat.le_refl _)
  have hn : m.clock.arrived ∉ m.ready := fun h' => by
    have := (h.ready _ h').2
    rw [hun] at this
    simp at this
  have hnj := h.no_job (i := m.clock.arrived) (by rw [hun]; simp)
  have hso := h.sess _ hlt
  have hpl : Place p (m.at_ m.clock.arrived).prog .ready := by
    have hp := hso.place
    rw [hun] at hp
    generalize hr : Status.unborn = r at hp
    generalize hb : (m.at_ m.clock.arrived).prog = b at hp
    cases hp <;> simp at hr
    exact .arrived
  -- whatever the clock is, as long as it counts one more and keeps the running iteration
  have key : ∀ (c : Clock) (ne : Nat), c.arrived = m.clock.arrived + 1 →
      c.iterEnd = m.clock.iterEnd → pendingArrivals c + c.arrived ≤ m.sess.size →
      Inv p A J B (Serq.wake { m with clock := c, nextEvent := ne } m.clock.arrived) := by
    intro c ne hc hie hco
    have hat : ∀ k, (Serq.wake { m with clock := c, nextEvent := ne } m.clock.arrived).at_ k =
        (m.modSess m.clock.arrived fun s => { s with status := .ready }).at_ k := fun _ => rfl
    have hsz : (Serq.wake { m with clock := c, nextEvent := ne } m.clock.arrived).sess.size =
        m.sess.size := by simp [Serq.wake, Machine.modSess]
    refine ⟨?_, ?_, ?_, ?_, h.owners, h.dues, h.batch, h.entries, ?_, ?_, ?_⟩
    · intro k hk
      rw [hsz] at hk
      rw [hat]
      by_cases hki : m.clock.arrived = k
      · subst hki
        rw [at_mod_self hlt]
        exact ⟨hso.stack, hso.turns, hpl, hso.attrs⟩
      · rw [at_mod_other hki]
        exact h.sess k hk
    · show (m.ready ++ [m.clock.arrived]).Nodup
      rw [List.nodup_append]
      refine ⟨h.nodup, by simp, ?_⟩
      intro a ha' b hb
      rw [List.mem_singleton.mp hb]
      exact fun h' => hn (h' ▸ ha')
    · intro k hk
      rw [hsz, hat]
      have hk' : k ∈ m.ready ++ [m.clock.arrived] := hk
      rcases List.mem_append.mp hk' with hk' | hk'
      · have hne : m.clock.arrived ≠ k := fun h' => hn (h' ▸ hk')
        rw [at_mod_other hne]
        exact h.ready k hk'
      · rw [List.mem_singleton.mp hk', at_mod_self hlt]
        exact ⟨hlt, rfl⟩
    · intro j hj
      obtain ⟨h1, h2, h3, h4, h5, h6⟩ := h.jobs j hj
      have hne : m.clock.arrived ≠ j.owner := fun h' => hnj j hj h'.symm
      refine ⟨by rw [hsz]; exact h1, h2, h3, h4, ?_, ?_⟩
      · rw [hat, at_mod_other hne]; exact h5
      · rw [hat, at_mod_other hne]; exact h6
    · intro hnone
      exact hidle (hie ▸ hnone)
    · intro k hk
      rw [hsz] at hk
      rw [hat]
      show _ ↔ c.arrived ≤ k
      rw [hc]
      by_cases hki : m.clock.arrived = k
      · subst hki
        rw [at_mod_self hlt]
        simp
      · rw [at_mod_other hki, h.born k hk]
        omega
    · rw [hsz]
      exact hco
  unfold Serq.arrive scheduleArrival
  simp only
  unfold pendingArrivals at hcoming
  rw [ha] at hcoming
  split
  · next hg =>
    rw [hg] at hcoming
    refine key _ m.nextEvent rfl rfl ?_
    simp [pendingArrivals, hg] at hcoming ⊢
    omega
  · next g gs hg =>
    rw [hg] at hcoming
    refine key _ (m.nextEvent + 1) rfl rfl ?_
    simp [pendingArrivals] at hcoming ⊢
    omega

/-- An event. -/
theorem Inv.handle (hS : Setting D p A J B) {m : Machine} (h : Inv p A J B m) {t q : Nat} {e : Ev}
    (hn : nextEvent m = some (t, q, e)) : Inv p A J B (handle D t e m) := by
  have h0 : Inv p A J B { m with clock := { m.clock with now := t } } := by
    refine ⟨h.sess, h.nodup, h.ready, ?_, h.owners, h.dues, h.batch, h.entries, h.idle, h.born,
      h.coming⟩
    intro j hj
    obtain ⟨h1, h2, h3, h4, h5, h6⟩ := h.jobs j hj
    exact ⟨h1, h2, h3, h4, h5, h6⟩
  obtain ⟨hk, _⟩ := nextEvent_le hn (by rw [h.dues]; trivial)
  unfold Serq.handle
  cases hk with
  | iterEnd _ => exact h0.endIteration hS
  | arrival ha => exact h0.arrive (t := t) (q := q) ha h.idle
  | due d ds hd _ _ =>
    rw [h.dues] at hd
    simp at hd

/-! ## The start -/

/-- There are as many sessions as the workload has presets. -/
theorem newSessions_length (D : Deployment) (P : Block) (status : Status) (i : Nat)
    (as : List (List (Nat × Nat))) (ts : List (Option (List (List (Nat × Nat))))) :
    (newSessions D P status i as ts).length = as.length := by
  induction as generalizing i ts with
  | nil => cases ts <;> rfl
  | cons a as ih => cases ts <;> simp [newSessions, ih]

/-- A new session has the program, its presets and its number. -/
theorem newSessions_nth (D : Deployment) (P : Block) (status : Status) (i : Nat)
    (as : List (List (Nat × Nat))) {k : Nat} (hk : k < as.length) :
    Lst.nth default (newSessions D P status i as []) k =
      newSess D P (i + k) (Lst.nth [] as k) none status := by
  induction as generalizing i k with
  | nil => simp at hk
  | cons a as ih =>
    cases k with
    | zero => rfl
    | succ k =>
      simp only [newSessions, Lst.nth]
      rw [ih (i + 1) (by simpa using hk)]
      congr 1
      omega

/-- Before anything has happened, when sessions arrive one after another. -/
theorem Inv.initial {w : Workload} {gs : List Nat} (ht : w.turns = []) (hg : w.gaps = some gs)
    (hA : ∀ i, i < w.init.length →
      A (assign (Lst.nth [] w.init i) (Arr.put #[] D.slotSerial i))) :
    Inv p A J B (initial D w (prog p)) := by
  have hcase : ∀ (m : Machine), m.sess = ⟨newSessions D (prog p) .unborn 0 w.init w.turns⟩ →
      m.ready = [] → m.jobs = [] → m.dues = [] → m.plan.batch = [] → m.clock.arrived = 0 →
      pendingArrivals m.clock ≤ w.init.length → Inv p A J B m := by
    intro m hs hr hj hd hb ha hp
    have hsz : m.sess.size = w.init.length := by
      rw [hs]
      simp [newSessions_length]
    have hat : ∀ i, i < w.init.length → m.at_ i =
        newSess D (prog p) i (Lst.nth [] w.init i) none .unborn := by
      intro i hi
      unfold Machine.at_ Arr.at!
      rw [hs, ht]
      simpa using newSessions_nth D (prog p) .unborn 0 w.init hi
    refine ⟨?_, ?_, ?_, ?_, ?_, hd, ?_, ?_, ?_, ?_, ?_⟩
    · intro i hi
      rw [hsz] at hi
      rw [hat i hi]
      exact ⟨rfl, rfl, .unborn, hA i hi⟩
    · rw [hr]; simp
    · rw [hr]; simp
    · rw [hj]; simp
    · rw [hj]; trivial
    · rw [hb]; simp
    · rw [hb]; trivial
    · intro _; exact hb
    · intro i hi
      rw [hsz] at hi
      rw [hat i hi, ha]
      simp [newSess]
    · rw [hsz, ha]
      omega
  unfold Serq.initial
  simp only [hg]
  unfold scheduleArrival
  split
  · next hnil =>
    refine hcase _ rfl rfl rfl rfl rfl rfl ?_
    have : (gs.take w.init.length).length ≤ w.init.length := by simp [Nat.min_le_left]
    simpa [pendingArrivals] using this
  · next g gs' hcons =>
    refine hcase _ rfl rfl rfl rfl rfl rfl ?_
    have hlen : (gs.take w.init.length).length = gs'.length + 1 := by
      simp only at hcons
      rw [hcons]
      rfl
    have : (gs.take w.init.length).length ≤ w.init.length := by simp [Nat.min_le_left]
    simp [pendingArrivals]
    omega

/-- The proof rule for claims over iterations of such a program: tokens of every batch have `B`, and
what is to be shown follows from the state at the start of an iteration. -/
theorem every_iteration (hS : Setting D p A J B) {W : Workload → Prop} {q : IterRec → Prop}
    (hW : ∀ w, W w → w.turns = [] ∧ (∃ gs, w.gaps = some gs) ∧
      ∀ i, i < w.init.length → A (assign (Lst.nth [] w.init i) (Arr.put #[] D.slotSerial i)))
    (hB : ∀ m, Inv p A J B m → m.clock.iterEnd = none → ∀ e ∈ batchOf D m, B e.mode e.tokens)
    (hq : ∀ m, Inv p A J B m → m.clock.iterEnd = none →
      (startIteration D m).clock.iterEnd ≠ none → q (startIteration D m).clock.last) :
    EveryIteration D (prog p) W q := by
  refine every_iteration_of (Inv p A J B) ?_ ?_ ?_ ?_ ?_
  · intro w hw
    obtain ⟨h1, ⟨gs, h2⟩, h3⟩ := hW w hw
    exact Inv.initial h1 h2 h3
  · intro m h; exact h.settle hS _
  · intro m h hi; exact h.startIteration hS hi (hB m h hi)
  · intro m t n e h hn; exact h.handle hS hn
  · intro m h hi _ hne; exact hq m h hi hne

end Serq.TwoRuns
