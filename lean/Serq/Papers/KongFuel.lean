import Serq.Papers.KongSvf
import Serq.Thm.Fuel
/-!
# Smallest Volume First does not run out of fuel

Whoever is ready and whoever waits counts for the effort that an instant still takes: one turn for a ready
request, two for one that waits. A turn takes one off; a request that ends and lets others in makes two
of each that waited into one that is ready. So an instant of `n` requests takes at most `3 * n` turns.
-/

namespace Serq.Papers.KongSvf

open Serq.Claims.KongSvf

variable {q : Requests} {e n : Nat} {m m' : Machine} {i : Nat}

/-- The turns that an instant may still take. -/
def effort (m : Machine) : Nat := m.ready.length + 2 * (que m).length

/-- At most three for each request. -/
theorem effort_le (h : Struct q e m) : effort m ≤ 3 * m.sess.size := by
  have h1 := TwoRuns.length_le_of_nodup h.readyOnce fun i hi => (h.ready i hi).lt
  have h2 := TwoRuns.length_le_of_nodup h.queueOnce fun i hi => (h.queue i hi).lt
  unfold effort
  omega

/-! ## Admission -/

/-- One who waited is ready. -/
theorem Struct.admit_effort (h : Struct q e m) (hi : i ∈ que m) (hfit : fits deployment m i 0 = true) :
    (Serq.admit deployment m 0 i 0).outOfFuel = m.outOfFuel ∧
      (Serq.admit deployment m 0 i 0).ready.length = m.ready.length + 1 ∧
      (que (Serq.admit deployment m 0 i 0)).length + 1 = (que m).length := by
  obtain ⟨st, hp, he, _, _⟩ := h.pool
  have hq := h.queue i hi
  obtain ⟨f, a, heq⟩ := admit_eq hp he hq ((fits_iff hp hq).mp hfit)
  have hlen := (perm_removeOne hi).length_eq
  have hqm : que m = st.queue := by simp [que, pool_of hp]
  rw [hqm] at hlen ⊢
  rw [heq]
  refine ⟨rfl, by simp [tally], ?_⟩
  simp only [List.length_cons] at hlen
  simp only [que, tally, Machine.pool, Lst.nth]
  omega

/-- Fuel for all who wait is enough. -/
theorem Struct.admitHeads_effort (fuel : Nat) : ∀ m, Struct q e m → m.outOfFuel = false →
    (que m).length < fuel →
    (Serq.admitHeads deployment 0 fuel m).outOfFuel = false ∧
      (Serq.admitHeads deployment 0 fuel m).ready.length + (que (Serq.admitHeads deployment 0 fuel m)).length =
        m.ready.length + (que m).length ∧
      m.ready.length ≤ (Serq.admitHeads deployment 0 fuel m).ready.length := by
  induction fuel with
  | zero => intro m _ _ h; omega
  | succ fuel ih =>
    intro m h h0 hf
    unfold Serq.admitHeads
    rcases selected_least h.queue with ⟨h1, _⟩ | ⟨i, h1, h2, h3⟩
    · simp only [h1]
      exact ⟨h0, trivial, Nat.le_refl _⟩
    · simp only [h1]
      split
      · next hfit =>
        obtain ⟨a1, a2, a3⟩ := h.admit_effort h2 hfit
        obtain ⟨t1, t2, t3⟩ := ih _ (h.admit h2 h3 hfit).1 (by rw [a1]; exact h0) (by omega)
        exact ⟨t1, by omega, by omega⟩
      · exact ⟨h0, rfl, Nat.le_refl _⟩

/-- Admission at the pool. -/
theorem Struct.admitAll_effort (h : Struct q e m) (h0 : m.outOfFuel = false) :
    (Serq.admitAll deployment m).outOfFuel = false ∧
      (Serq.admitAll deployment m).ready.length + (que (Serq.admitAll deployment m)).length =
        m.ready.length + (que m).length ∧
      m.ready.length ≤ (Serq.admitAll deployment m).ready.length := by
  rw [admitAll_eq]
  exact h.admitHeads_effort _ m h0 (Nat.lt_succ_self _)

/-! ## A turn -/

/-- A ready request's turn takes one off the effort. -/
theorem Struct.exec_effort {is : List Nat} (h : Struct q 0 m) (hr : m.ready = i :: is)
    (h0 : m.outOfFuel = false) :
    (Serq.exec deployment execFuel { m with ready := is } i).outOfFuel = false ∧
      effort (Serq.exec deployment execFuel { m with ready := is } i) < effort m := by
  have hi := h.ready i (by simp [hr])
  have hnd := h.readyOnce
  rw [hr] at hnd
  have hir : i ∉ is := (List.nodup_cons.mp hnd).1
  have hlen : m.ready.length = is.length + 1 := by rw [hr]; rfl
  rcases hi.prog with hp | hp
  · obtain ⟨a, heq⟩ := KongSvf.exec_body (m := { m with ready := is }) 99999
      (hi.keep (m' := { m with ready := is }) rfl rfl) hp (h.small i hi.lt).2
    rw [show execFuel = 99999 + 1 from rfl, heq]
    refine ⟨h0, ?_⟩
    show is.length + 2 * (que m).length < effort m
    unfold effort
    omega
  · obtain ⟨st, hpool, hent, hused, hcap⟩ := h.pool
    have hiq : i ∉ que m := fun h' => by
      have h1 := (h.queue i h').status
      rw [hi.status] at h1
      simp at h1
    have hij : ∀ j ∈ m.jobs, j.owner ≠ i := fun j hj h' => by
      have h1 := (h.jobs j hj).1.status
      rw [h', hi.status] at h1
      simp at h1
    have ht0 : taken q m = q.peak i + taken q { m with ready := is } := by
      have : taken q m = sumBy q.peak (i :: is) + sumBy (fun j => q.peak j.owner) m.jobs := by
        rw [← hr]; rfl
      rw [this]
      simp only [sumBy, taken]
      omega
    have hs0 : Struct q (q.peak i) { m with ready := is } := by
      refine ⟨h.small, ⟨st, hpool, hent, by rw [hused, ht0]; omega, hcap⟩, ?_, ?_, ?_,
        (List.nodup_cons.mp hnd).2, h.queueOnce, h.jobsOnce, h.dues, h.arrival⟩
      · exact fun k hk => (h.ready k (by simp [hr]; exact Or.inr hk)).keep rfl rfl
      · exact fun k hk => (h.queue k hk).keep rfl rfl
      · exact fun j hj => ⟨(h.jobs j hj).1.keep rfl rfl, (h.jobs j hj).2⟩
    rw [show execFuel = 99999 + 1 from rfl,
      KongSvf.exec_done (m := { m with ready := is }) 99999 hi.status hp hi.stack]
    obtain ⟨f, heq⟩ := finishHold_eq (m := { m with ready := is }) (i := i) (q := q) hpool
    rw [heq]
    generalize hR : released q st { m with ready := is } i = R
    have cR : Changed { m with ready := is } R i := by rw [← hR]; exact .of rfl rfl rfl
    have aR : R.at_ i = { m.at_ i with
        snap := (m.at_ i).attrs, attrs := Arr.put (m.at_ i).attrs 8 0, prog := rest, stack := [] } := by
      rw [← hR]
      exact at_of (m := m) (f := fun s =>
        { s with snap := s.attrs, attrs := Arr.put s.attrs 8 0, prog := rest, stack := [] }) rfl hi.lt
    have hRp : R.pools = [{ st with
        used := st.used - q.peak i, holders := removeOne i st.holders }] := by rw [← hR]; rfl
    have hRq : que R = que m := by simp [que, pool_of hRp, pool_of hpool]
    have hRr : R.ready = is := by rw [← hR]; rfl
    have hRf : R.outOfFuel = false := by rw [← hR]; exact h0
    have r1 := (hs0.elsewhere (e' := 0) cR hir hiq hij (by rw [← hR]; rfl)
      (by rw [← hR]; rfl) hRq ⟨_, hRp, hent, by simp only; omega, by simp only; omega⟩).1
    obtain ⟨a1, a2, a3⟩ := r1.admitAll_effort hRf
    obtain ⟨_, _, same, _⟩ := r1.admitHeads ((R.pool 0).queue.length + 1)
    have hAi : (tally (Serq.admitAll deployment R) f).at_ i = R.at_ i := by
      show (Serq.admitAll deployment R).at_ i = _
      rw [admitAll_eq]
      exact same i (by rw [hRq]; exact hiq)
    have hlt : i < (tally (Serq.admitAll deployment R) f).sess.size := by
      show i < (Serq.admitAll deployment R).sess.size
      rw [(same_admitAll deployment R).size, cR.size]
      exact hi.lt
    have hst : (tally (Serq.admitAll deployment R) f).at_ i = { m.at_ i with
        snap := (m.at_ i).attrs, attrs := Arr.put (m.at_ i).attrs 8 0, prog := rest, stack := [] } := by
      rw [hAi, aR]
    have w := TwoRuns.exec_fuel (D := deployment) rfl 99999 hlt (by rw [hst])
      (by rw [hst]; exact trivial) (by rw [hst]; show TwoRuns.commands rest ≤ 99999; decide)
      (show _ = false from a1)
    have hready : (Serq.exec deployment 99999 (tally (Serq.admitAll deployment R) f) i).ready =
        (Serq.admitAll deployment R).ready := by
      rcases w.ready with h' | ⟨_, h'⟩
      · exact h'
      · rw [hst] at h'
        exact absurd h' (Nat.not_lt_zero _)
    refine ⟨w.fuel, ?_⟩
    have hq' : que (Serq.exec deployment 99999 (tally (Serq.admitAll deployment R) f) i) =
        que (Serq.admitAll deployment R) := by
      simp only [que, Machine.pool, w.pools]
      rfl
    unfold effort
    rw [hready, hq']
    rw [hRq, hRr] at a2
    rw [hRr] at a3
    omega

/-- The ready requests' turns. -/
theorem Struct.drain_effort (fuel : Nat) : ∀ m, Struct q 0 m → m.outOfFuel = false →
    effort m < fuel → (Serq.drain deployment fuel m).outOfFuel = false ∧
      (Serq.drain deployment fuel m).ready = [] ∧ effort (Serq.drain deployment fuel m) ≤ effort m := by
  induction fuel with
  | zero => intro m _ _ h; omega
  | succ fuel ih =>
    intro m h h0 hf
    unfold Serq.drain
    split
    · next hr => exact ⟨h0, hr, Nat.le_refl _⟩
    · next i is hr =>
      obtain ⟨w1, w2⟩ := h.exec_effort hr h0
      obtain ⟨t1, t2, t3⟩ := ih _ (h.exec hr).1 w1 (by omega)
      exact ⟨t1, t2, by omega⟩

/-- Settling on, after an admission. -/
theorem Struct.settle_effort (fuel : Nat) : ∀ m, Struct q 0 m → m.outOfFuel = false →
    effort m < fuel → effort m < instantFuel → (Serq.settle deployment fuel m).outOfFuel = false := by
  induction fuel with
  | zero => intro m _ _ h; omega
  | succ fuel ih =>
    intro m h h0 hf hi
    obtain ⟨d1, d2, d3⟩ := h.drain_effort instantFuel m h0 hi
    have hd := (h.drain instantFuel m).1
    obtain ⟨a1, a2, a3⟩ := hd.admitAll_effort d1
    have ha := (hd.admitHeads ((((Serq.drain deployment instantFuel m).pool 0).queue.length) + 1)).1
    rw [← admitAll_eq] at ha
    unfold Serq.settle
    simp only
    split
    · exact a1
    · next hne =>
      have hpos : 0 < (Serq.admitAll deployment (Serq.drain deployment instantFuel m)).ready.length := by
        cases hr : (Serq.admitAll deployment (Serq.drain deployment instantFuel m)).ready with
        | nil => exact absurd hr hne
        | cons x xs => simp
      have hlt : effort (Serq.admitAll deployment (Serq.drain deployment instantFuel m)) <
          effort (Serq.drain deployment instantFuel m) := by
        rw [d2] at a2
        unfold effort
        rw [d2]
        simp only [List.length_nil] at a2 ⊢
        omega
      exact ih _ ha a1 (by omega) (by omega)

/-! ## The first instant -/

/-- What a hold takes and gives uses no fuel. -/
theorem giveAll_fuel (D : Deployment) (i : Nat) (g : Bool) (v : Option Nat) (as : List Alloc) :
    ∀ m, (giveAll D i g v as m).outOfFuel = m.outOfFuel := by
  induction as with
  | nil => intro m; rfl
  | cons a as ih =>
    intro m
    unfold giveAll
    rw [ih]
    unfold giveOne
    simp only
    split <;> rfl

/-- The end of a session uses none. -/
theorem releaseStack_fuel (D : Deployment) (i : Nat) (st : List Frame) :
    ∀ m, (releaseStack D i st m).outOfFuel = m.outOfFuel := by
  induction st with
  | nil => intro m; rfl
  | cons f st ih =>
    intro m
    cases f with
    | seq k => exact ih m
    | hold r k =>
      unfold releaseStack
      rw [ih]
      unfold releaseHold
      rw [giveAll_fuel]
      rfl

/-- Joining a queue uses none. -/
theorem enqueue_fuel (D : Deployment) (m : Machine) (i : Nat) (front : Bool) :
    (enqueue D m i front).outOfFuel = m.outOfFuel := by
  unfold enqueue
  split
  · simp only
    split
    · show (releaseStack D i _ _).outOfFuel = _
      rw [releaseStack_fuel]
    · rfl
  · rfl

/-- A request comes, and waits. -/
theorem Arriving.exec_fuel {is : List Nat} (h : Arriving q n m) (hr : m.ready = i :: is)
    (h0 : m.outOfFuel = false) :
    (Serq.exec deployment execFuel { m with ready := is } i).outOfFuel = false ∧
      (Serq.exec deployment execFuel { m with ready := is } i).ready = is := by
  have hi := h.ready i (by simp [hr])
  obtain ⟨st, hpool, _, _⟩ := h.pool
  refine ⟨?_, ?_⟩
  · rw [show execFuel = 99996 + 3 + 1 from rfl,
      exec_turn (m := { m with ready := is }) (99996 + 3) hi.status hi.prog]
    have a1 := at_self (m := { m with ready := is }) hi.lt (fun s => nextTurn deployment
      { s with prog := .Observe 0 (.Attr 10) (.Observe 1 volE wait) })
    have p1 : nextTurn deployment { m.at_ i with prog := .Observe 0 (.Attr 10) (.Observe 1 volE wait) } =
        { m.at_ i with
          prog := .Observe 0 (.Attr 10) (.Observe 1 volE wait)
          attrs := Arr.put (m.at_ i).attrs 2 (Arr.at! (m.at_ i).attrs 2 + 1) } := by
      simp only [nextTurn, hi.turns]
      rfl
    generalize hm1 : (Machine.modSess { m with ready := is } i fun s => nextTurn deployment
      { s with prog := .Observe 0 (.Attr 10) (.Observe 1 volE wait) }) = m1 at a1
    have b1 : m1.at_ i = { m.at_ i with
        prog := .Observe 0 (.Attr 10) (.Observe 1 volE wait)
        attrs := Arr.put (m.at_ i).attrs 2 (Arr.at! (m.at_ i).attrs 2 + 1) } := a1.trans p1
    have f1 : m1.outOfFuel = false := by rw [← hm1]; exact h0
    have l1 : i < m1.sess.size := by rw [← hm1]; simpa [Machine.modSess] using hi.lt
    rw [exec_observe (99996 + 2) (by rw [b1]; exact hi.status) (by rw [b1])]
    generalize hm2 : ({ m1 with
      sess := Arr.mod m1.sess i fun s => { s with prog := .Observe 1 volE wait }
      obs := _ } : Machine) = m2
    have b2 : m2.at_ i = { m1.at_ i with prog := .Observe 1 volE wait } := by
      rw [← hm2]; exact at_of (m := m1) (f := fun s => { s with prog := .Observe 1 volE wait }) rfl l1
    have f2 : m2.outOfFuel = false := by rw [← hm2]; exact f1
    have l2 : i < m2.sess.size := by rw [← hm2]; simpa using l1
    rw [exec_observe (99996 + 1) (by rw [b2, b1]; exact hi.status) (by rw [b2])]
    generalize hm3 : ({ m2 with
      sess := Arr.mod m2.sess i fun s => { s with prog := wait }
      obs := _ } : Machine) = m3
    have b3 : m3.at_ i = { m2.at_ i with prog := wait } := by
      rw [← hm3]; exact at_of (m := m2) (f := fun s => { s with prog := wait }) rfl l2
    have f3 : m3.outOfFuel = false := by rw [← hm3]; exact f2
    rw [exec_hold 99996 (by rw [b3, b2, b1]; exact hi.status) (by rw [b3]; rfl), enqueue_fuel]
    exact f3
  · exact (exec_arrive (m := { m with ready := is }) (q := q) 99996 hi.lt hi.status hi.prog hi.turns
      hi.stack hi.brings (h.small i hi.lt).1 hpool rfl).2.2.1

/-- Everybody comes. -/
theorem Arriving.drain_fuel (fuel : Nat) : ∀ m, Arriving q n m → m.outOfFuel = false →
    m.ready.length < fuel → (Serq.drain deployment fuel m).outOfFuel = false := by
  induction fuel with
  | zero => intro m _ _ h; omega
  | succ fuel ih =>
    intro m h h0 hf
    unfold Serq.drain
    split
    · exact h0
    · next i is hr =>
      obtain ⟨w1, w2⟩ := h.exec_fuel hr h0
      rw [hr] at hf
      exact ih _ (h.exec hr) w1 (by rw [w2]; simp only [List.length_cons] at hf; omega)

/-! ## The path -/

/-- After an instant has settled with fuel, the next iteration starts with fuel. -/
theorem afterEvent_fuel {x : Machine} (h : Struct q 0 (Serq.settle deployment instantFuel x))
    (h0 : (Serq.settle deployment instantFuel x).outOfFuel = false) :
    (afterEvent deployment x).outOfFuel = false := by
  unfold afterEvent
  simp only
  split
  · exact h0
  · next hn =>
    split
    · exact h0
    · rcases start_cases h hn with ⟨_, hs⟩ | ⟨pl, ne, last, it, se, hs, _⟩
      · rw [hs]; exact h0
      · rw [hs]; exact h0

/-- An instant brings no session that was not there. -/
theorem afterEvent_size (D : Deployment) (x : Machine) :
    (afterEvent D x).sess.size = x.sess.size := by
  have h1 := (same_settle D instantFuel x).size
  unfold afterEvent
  simp only
  split
  · exact h1
  · split
    · exact h1
    · have h2 := (buildBatch_keeps D (chunkCap D (settle D instantFuel x))
        (settle D instantFuel x)).1.size
      rcases startIteration_cases D (settle D instantFuel x) with hs | ⟨hs, _, _⟩ | hs <;> rw [hs]
      · exact h1
      · exact h2.trans h1
      · exact h2.trans h1

/-- The first instant. -/
theorem start_fuel {w : Workload} (hw : family_queueing_bound w) :
    (start deployment w prog).outOfFuel = false ∧
      (start deployment w prog).sess.size = w.init.length := by
  have h0 := Arriving.initial hw
  have hn : w.init.length ≤ 500 := hw.1
  have hfuel := (initial_idle deployment w prog).2.2.2.2.2.2
  have hsize : (initial deployment w prog).sess.size = w.init.length := by
    unfold Serq.initial
    simp only [hw.2.2.1]
    simp [TwoRuns.newSessions_length]
  unfold start
  refine ⟨?_, (afterEvent_size _ _).trans hsize⟩
  generalize initial deployment w prog = x at h0 hfuel hsize ⊢
  have hready : x.ready.length ≤ x.sess.size :=
    TwoRuns.length_le_of_nodup h0.readyOnce fun i hi => (h0.ready i hi).lt
  have hd := h0.drain_fuel instantFuel x hfuel (by unfold instantFuel; omega)
  obtain ⟨a1, a2⟩ := h0.drain instantFuel x hd
  have s1 := (a1.done a2).1
  have hdsize : (Serq.drain deployment instantFuel x).sess.size = x.sess.size :=
    (same_drain deployment instantFuel x).size
  generalize hdd : Serq.drain deployment instantFuel x = d at hd a1 a2 s1 hdsize
  have hset : Serq.settle deployment instantFuel x = match (Serq.admitAll deployment d).ready with
      | [] => Serq.admitAll deployment d
      | _ => Serq.settle deployment 99999 (Serq.admitAll deployment d) := by
    rw [← hdd]; rfl
  obtain ⟨t1, _, _⟩ := s1.settleFrom 99999 (Struct.settle 99999) hset
  refine afterEvent_fuel t1 ?_
  obtain ⟨c1, _, _⟩ := s1.admitAll_effort hd
  have ha := (s1.admitHeads (((d.pool 0).queue.length) + 1)).1
  rw [← admitAll_eq] at ha
  have hle := effort_le ha
  rw [(same_admitAll deployment d).size, hdsize, hsize] at hle
  rw [hset]
  split
  · exact c1
  · exact ha.settle_effort 99999 _ c1 (by omega) (by unfold instantFuel; omega)

/-- On no path of the family does the fuel run out: the claim speaks of every machine of every path. -/
theorem noFuelOut : NoFuelOut Claims.KongSvf.deployment Claims.KongSvf.prog family_queueing_bound := by
  intro w hw m hm
  replace hm := of_claims hm
  suffices h : m.outOfFuel = false ∧ m.sess.size = w.init.length from h.1
  induction hm with
  | start => exact start_fuel hw
  | @step m hm ih =>
    obtain ⟨h0, hsize⟩ := ih
    have hb := between_reach hw hm h0
    have hn : w.init.length ≤ 500 := hw.1
    unfold Serq.step
    rcases hb.engine with ⟨k, hi, hbatch⟩ | ⟨hi, _⟩
    · have hnext : nextEvent m = some (m.now + 1, k, .iterEnd) := by
        simp [nextEvent, pendingIter, pendingArrival, pendingDue, hi, hb.struct.dues,
          hb.struct.arrival, earlier]
      simp only [hnext]
      obtain ⟨f1, f2⟩ := TwoRuns.handle_fuel deployment hb.struct.dues (m.now + 1) .iterEnd
      generalize hM : handle deployment (m.now + 1) .iterEnd m = M at f1 f2 ⊢
      have hS := (hb.struct.endIteration hb.settled.ready hbatch rfl hb.settled.blocked hM.symm).1
      have hle := effort_le hS
      rw [f2, hsize] at hle
      refine ⟨afterEvent_fuel (hS.settle instantFuel M).1 ?_, (afterEvent_size _ _).trans (f2.trans hsize)⟩
      exact hS.settle_effort instantFuel M (f1.trans h0) (by unfold instantFuel; omega)
        (by unfold instantFuel; omega)
    · simp only [nothing_pending hb.struct hi]
      exact ⟨h0, hsize⟩

end Serq.Papers.KongSvf
