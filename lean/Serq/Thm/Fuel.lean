import Serq.Thm.TwoRuns
/-!
# Fuel

Every recursion on the evaluation path has fuel, and a machine whose fuel ran out says so; claims leave
such machines out. Here: for a program of two runs (`Serq.Thm.TwoRuns`) none is left out. A session has
at most three turns without waiting before it needs the engine's time, so an instant of `n` sessions needs
fuel for `3 * n` turns and no more than three commands in each.
-/

namespace Serq.TwoRuns

variable {D : Deployment} {p : Params} {A : Array Nat → Prop} {J B : Mode → Nat → Prop}

/-! ## Counting -/

/-- The runs that a chain of statements has still to come to. -/
def runs : Block → Nat
  | .Set _ _ k | .Turn k | .Observe _ _ k => runs k
  | .Run _ _ _ _ k => runs k + 1
  | _ => 0

/-- The commands up to the next run or the end. -/
def commands : Block → Nat
  | .Set _ _ k | .Turn k | .Observe _ _ k => commands k + 1
  | _ => 1

/-- A chain of notes, turns, observations and runs at stage 0 that ends the session. -/
def Straight : Block → Prop
  | .Set _ _ k | .Turn k | .Observe _ _ k => Straight k
  | .Run s _ _ g k => s = { base := 0 } ∧ g = none ∧ Straight k
  | .End | .Done => True
  | _ => False

/-- There is always a command. -/
theorem commands_pos (b : Block) : 0 < commands b := by
  cases b <;> simp [commands]

/-- Wherever a session of such a program stands, it goes straight on. -/
theorem Place.straight {b : Block} {s : Status} (h : Place p b s) :
    Straight b ∧ runs b ≤ 2 ∧ commands b ≤ 3 := by
  cases h <;>
    simp [prog, rest1, rest2, rest3, rest4, Straight, runs, commands]

/-- Different numbers below `n` are at most `n` many. -/
theorem length_le_of_nodup {l : List Nat} {n : Nat} (hd : l.Nodup) (hb : ∀ x ∈ l, x < n) :
    l.length ≤ n := by
  induction n generalizing l with
  | zero =>
    cases l with
    | nil => simp
    | cons x xs => exact absurd (hb x (by simp)) (by omega)
  | succ n ih =>
    have h1 : (l.erase n).length ≤ n := by
      refine ih (hd.erase n) ?_
      intro x hx
      have := (hd.mem_erase_iff).mp hx
      have := hb x this.2
      omega
    have h2 : l.length ≤ (l.erase n).length + 1 := by
      rw [List.length_erase]
      split <;> omega
    omega

/-- The turns that ready sessions may have: one each, and one more for each run ahead. -/
def weight (m : Machine) : List Nat → Nat
  | [] => 0
  | i :: is => runs (m.at_ i).prog + 1 + weight m is

/-- It depends only on the sessions counted. -/
theorem weight_congr {m m' : Machine} {l : List Nat} (h : ∀ i ∈ l, m'.at_ i = m.at_ i) :
    weight m' l = weight m l := by
  induction l with
  | nil => rfl
  | cons i is ih =>
    simp only [weight]
    rw [h i (by simp), ih fun j hj => h j (by simp [hj])]

/-- One more ready session. -/
theorem weight_append (m : Machine) (l : List Nat) (i : Nat) :
    weight m (l ++ [i]) = weight m l + (runs (m.at_ i).prog + 1) := by
  induction l with
  | nil => simp [weight]
  | cons j js ih =>
    simp only [List.cons_append, weight, ih]
    omega

/-- At most three turns for each ready session. -/
theorem weight_le {m : Machine} (h : Inv p A J B m) (l : List Nat)
    (hl : ∀ i ∈ l, i < m.sess.size) : weight m l ≤ 3 * l.length := by
  induction l with
  | nil => simp [weight]
  | cons i is ih =>
    have h1 := (h.sess i (hl i (by simp))).place.straight.2.1
    have h2 := ih fun j hj => hl j (by simp [hj])
    simp only [weight, List.length_cons]
    omega

/-! ## The commands of one session -/

/-- What the commands of session `i` leave: fuel, the pools, the other sessions, and `i` itself ready at
most with fewer runs ahead. -/
structure Went (i : Nat) (m m' : Machine) : Prop where
  fuel : m'.outOfFuel = false
  pools : m'.pools = m.pools
  others : ∀ j, i ≠ j → m'.at_ j = m.at_ j
  ready : m'.ready = m.ready ∨
    (m'.ready = m.ready ++ [i] ∧ runs (m'.at_ i).prog < runs (m.at_ i).prog)

/-- One command before others. -/
theorem Went.after {m m' : Machine} {i : Nat} (hi : i < m.sess.size) (f : Sess → Sess)
    (hr : runs (f (m.at_ i)).prog = runs (m.at_ i).prog) (h : Went i (m.modSess i f) m') :
    Went i m m' := by
  refine ⟨h.fuel, h.pools, fun j hj => ?_, ?_⟩
  · rw [h.others j hj, at_mod_other hj]
  · have h' := h.ready
    rw [at_mod_self hi, hr] at h'
    exact h'

/-- With fuel for the commands up to the next run, no fuel runs out. -/
theorem exec_fuel (hst : D.stage 0 = .Step) {i : Nat} (fuel : Nat) {m : Machine}
    (hi : i < m.sess.size) (hk : (m.at_ i).stack = []) (hp : Straight (m.at_ i).prog)
    (hc : commands (m.at_ i).prog ≤ fuel) (h0 : m.outOfFuel = false) :
    Went i m (exec D fuel m i) := by
  induction fuel generalizing m with
  | zero => exact absurd (commands_pos (m.at_ i).prog) (by omega)
  | succ fuel ih =>
    have hsz : ∀ f : Sess → Sess, (m.modSess i f).sess.size = m.sess.size := fun f => by
      simp [Machine.modSess]
    unfold Serq.exec
    simp only
    split
    · cases hb : (m.at_ i).prog with
      | Set slot e k =>
        rw [hb] at hp hc
        refine (ih (m := m.modSess i _) (by rw [hsz]; exact hi) ?_ ?_ ?_ h0).after hi _ ?_
        · rw [at_mod_self hi]; exact hk
        · rw [at_mod_self hi]; exact hp
        · rw [at_mod_self hi]; simp only [commands] at hc; simp only; omega
        · rw [hb]; rfl
      | Turn k =>
        rw [hb] at hp hc
        have hn : ∀ s : Sess, (nextTurn D s).prog = s.prog ∧ (nextTurn D s).stack = s.stack := by
          intro s
          unfold nextTurn
          simp only
          split <;> exact ⟨rfl, rfl⟩
        refine (ih (m := m.modSess i _) (by rw [hsz]; exact hi) ?_ ?_ ?_ h0).after hi _ ?_
        · rw [at_mod_self hi, (hn _).2]; exact hk
        · rw [at_mod_self hi, (hn _).1]; exact hp
        · rw [at_mod_self hi, (hn _).1]; simp only [commands] at hc; simp only; omega
        · rw [(hn _).1, hb]; rfl
      | Observe o e k =>
        rw [hb] at hp hc
        simp only
        have h1 := ih (m := { m.modSess i fun s => { s with prog := k } with
            obs := ⟨o, (m.at_ i).serial, m.now, e.eval (m.sessEnv D i 0)⟩ ::
              (m.modSess i fun s => { s with prog := k }).obs })
          (by simpa [Machine.modSess] using hi) ?_ ?_ ?_ h0
        · refine Went.after (m := m) hi (fun s => { s with prog := k }) (by rw [hb]; rfl)
            ⟨h1.fuel, h1.pools, h1.others, h1.ready⟩
        · show ((m.modSess i fun s => { s with prog := k }).at_ i).stack = []
          rw [at_mod_self hi]; exact hk
        · show Straight ((m.modSess i fun s => { s with prog := k }).at_ i).prog
          rw [at_mod_self hi]; exact hp
        · show commands ((m.modSess i fun s => { s with prog := k }).at_ i).prog ≤ fuel
          rw [at_mod_self hi]; simp only [commands] at hc; simp only; omega
      | Run stage mode work growing k =>
        rw [hb] at hp
        obtain ⟨rfl, rfl, _⟩ := hp
        simp only [Ref.eval, Expr.eval, Nat.add_zero]
        split
        · refine ⟨h0, rfl, fun j hj => at_mod_other hj _, Or.inr ⟨rfl, ?_⟩⟩
          show runs ((m.modSess i fun s => { s with prog := k }).at_ i).prog < _
          rw [at_mod_self hi, hb]
          simp [runs]
        · unfold startRun
          simp only [hst]
          refine ⟨h0, rfl, fun j hj => ?_, Or.inl rfl⟩
          show ((m.modSess i fun s => { s with prog := k }).modSess i
            fun x => { x with status := .engine }).at_ j = _
          rw [at_mod_other hj, at_mod_other hj]
      | End =>
        simp only [endSession, hk, releaseStack]
        exact ⟨h0, rfl, fun j hj => at_mod_other hj _, Or.inl rfl⟩
      | Done =>
        simp only [hk]
        exact ⟨h0, rfl, fun j hj => at_mod_other hj _, Or.inl rfl⟩
      | Hold pools reuse body cache k => rw [hb] at hp; exact hp.elim
      | Drop r k => rw [hb] at hp; exact hp.elim
      | Release r k => rw [hb] at hp; exact hp.elim
      | Branch g a b k => rw [hb] at hp; exact hp.elim
      | Loop body => rw [hb] at hp; exact hp.elim
      | While g body k => rw [hb] at hp; exact hp.elim
      | Choose v n ks k => rw [hb] at hp; exact hp.elim
    · exact ⟨h0, rfl, fun _ _ => rfl, Or.inl rfl⟩

/-! ## An instant -/

/-- With fuel for the turns of the ready sessions, all of them have run and no fuel ran out. -/
theorem drain_fuel (hS : Setting D p A J B) {m : Machine} (h : Inv p A J B m)
    (h0 : m.outOfFuel = false) (fuel : Nat) (hf : weight m m.ready < fuel) :
    (drain D fuel m).outOfFuel = false ∧ (drain D fuel m).ready = [] := by
  induction fuel generalizing m with
  | zero => omega
  | succ fuel ih =>
    unfold Serq.drain
    split
    · next hr => exact ⟨h0, hr⟩
    · next i is hr =>
      have hnd := h.nodup
      rw [hr] at hnd
      have hni : i ∉ is := (List.nodup_cons.mp hnd).1
      have hin := h.ready i (by simp [hr])
      have h1 : Inv p A J B { m with ready := is } := by
        refine ⟨h.sess, (List.nodup_cons.mp hnd).2, ?_, ?_, h.owners, h.dues, h.batch, h.entries,
          h.idle, h.born, h.coming⟩
        · intro k hk; exact h.ready k (by simp [hr, hk])
        · intro j hj
          obtain ⟨h1, h2, h3, h4, h5, h6⟩ := h.jobs j hj
          exact ⟨h1, h2, h3, h4, h5, h6⟩
      have hs := h.sess i hin.1
      have hstage : D.stage 0 = .Step := by simp [Deployment.stage, hS.stages, Lst.nth]
      have hw : Went i { m with ready := is } (exec D execFuel { m with ready := is } i) :=
        exec_fuel (m := { m with ready := is }) hstage execFuel hin.1 hs.stack hs.place.straight.1
          (Nat.le_trans hs.place.straight.2.2 (by decide)) h0
      refine ih (h1.exec hS hin.1 hni execFuel) hw.fuel ?_
      have hsame : weight (exec D execFuel { m with ready := is } i) is = weight m is :=
        weight_congr fun j hj => hw.others j fun he => hni (he ▸ hj)
      rw [hr] at hf
      simp only [weight] at hf
      rcases hw.ready with hr' | ⟨hr', hlt⟩
      · rw [hr']
        show weight _ is < fuel
        omega
      · rw [hr']
        show weight _ (is ++ [i]) < fuel
        rw [weight_append, hsame]
        have : runs ((exec D execFuel { m with ready := is } i).at_ i).prog < runs (m.at_ i).prog := hlt
        omega

/-- Settling runs out of fuel for no number of sessions up to 33 000. -/
theorem settle_fuel (hS : Setting D p A J B) {m : Machine} (h : Inv p A J B m)
    (h0 : m.outOfFuel = false) (hn : m.sess.size ≤ 33000) :
    (settle D instantFuel m).outOfFuel = false := by
  have h1 : weight m m.ready ≤ 3 * m.ready.length := weight_le h _ fun i hi => (h.ready i hi).1
  have h2 : m.ready.length ≤ m.sess.size := length_le_of_nodup h.nodup fun i hi => (h.ready i hi).1
  have h3 := drain_fuel hS h h0 instantFuel (by unfold instantFuel; omega)
  rw [show instantFuel = 99999 + 1 from rfl]
  unfold settle
  simp only [admitAll_nil hS.pools, h3.2]
  exact h3.1

/-! ## Paths -/

/-- The end of a batch uses no fuel. -/
theorem applyEntries_fuel (es : List Entry) (m : Machine) :
    (applyEntries es m).outOfFuel = m.outOfFuel := by
  induction es generalizing m with
  | nil => rfl
  | cons e es ih =>
    unfold applyEntries applyEntry
    rw [ih]
    split <;> rfl

/-- An event uses no fuel and brings no session that was not there. -/
theorem handle_fuel (D : Deployment) {m : Machine} (hd : m.dues = []) (t : Nat) (e : Ev) :
    (handle D t e m).outOfFuel = m.outOfFuel ∧ (handle D t e m).sess.size = m.sess.size := by
  unfold handle
  cases e with
  | iterEnd =>
    simp only [endIteration]
    exact ⟨applyEntries_fuel _ _, (same_applyEntries _ _).size⟩
  | arrival =>
    simp only [arrive, scheduleArrival]
    split <;> simp [wake, Machine.modSess]
  | due => simp [hd]

/-- On no path of a program of two runs, for any workload of up to 33 000 sessions that arrive one after
another, does the fuel run out: the claims about it speak of every machine of every path. -/
theorem noFuelOut (hS : Setting D p A J B) {W : Workload → Prop}
    (hW : ∀ w, W w → w.init.length ≤ 33000 ∧ w.turns = [] ∧ (∃ gs, w.gaps = some gs) ∧
      ∀ i, i < w.init.length → A (assign (Lst.nth [] w.init i) (Arr.put #[] D.slotSerial i)))
    (hB : ∀ m, Inv p A J B m → m.clock.iterEnd = none → ∀ e ∈ batchOf D m, B e.mode e.tokens) :
    NoFuelOut D (prog p) W := by
  intro w hw m hm
  obtain ⟨hlen, hturns, ⟨gs, hgaps⟩, hA⟩ := hW w hw
  refine (reach_invariant (D := D) (w := w) (P := prog p)
    (fun m => Inv p A J B m ∧ m.sess.size ≤ 33000 ∧ m.outOfFuel = false) ?_ ?_ ?_ ?_ hm).2.2
  · refine ⟨Inv.initial hturns hgaps hA, ?_, (initial_idle D w (prog p)).2.2.2.2.2.2⟩
    have : (initial D w (prog p)).sess.size = w.init.length := by
      unfold Serq.initial
      simp only [hgaps]
      unfold scheduleArrival
      split <;> simp [newSessions_length]
    omega
  · intro m ⟨h, hn, h0⟩
    exact ⟨h.settle hS _, by rw [(same_settle D instantFuel m).size]; exact hn,
      settle_fuel hS h h0 hn⟩
  · intro m ⟨h, hn, h0⟩ hi
    refine ⟨h.startIteration hS hi (hB m h hi), ?_⟩
    have hb := buildBatch_eq_fill hS.serve (chunkCap D m) hi (fun j hj => (h.jobs j hj).growing)
      (no_queue hS.pools m)
    rcases startIteration_cases D m with hs | ⟨hs, _, _⟩ | hs <;> rw [hs]
    · exact ⟨hn, h0⟩
    · rw [hb]; exact ⟨hn, h0⟩
    · rw [hb]; exact ⟨hn, h0⟩
  · intro m t q e ⟨h, hn, h0⟩ he
    obtain ⟨h1, h2⟩ := handle_fuel D h.dues t e
    exact ⟨h.handle hS he, by rw [h2]; exact hn, by rw [h1]; exact h0⟩

/-- The same without a word about the amounts: one engine in admission order, no pools. -/
theorem noFuelOut_of_arrivals {W : Workload → Prop} (hp : D.pools = []) (hs : D.stages = [.Step])
    (hv : D.serve = [])
    (hW : ∀ w, W w → w.init.length ≤ 33000 ∧ w.turns = [] ∧ ∃ gs, w.gaps = some gs) :
    NoFuelOut D (prog p) W :=
  noFuelOut (A := fun _ => True) (J := fun _ _ => True) (B := fun _ _ => True)
    ⟨hp, hs, hv, fun _ _ _ => trivial, fun _ _ _ => trivial, fun _ _ => trivial,
      fun _ _ => trivial, fun _ _ _ _ _ => trivial⟩
    (fun w hw => ⟨(hW w hw).1, (hW w hw).2.1, (hW w hw).2.2, fun _ _ => trivial⟩)
    (fun _ _ _ _ _ => trivial)

end Serq.TwoRuns
