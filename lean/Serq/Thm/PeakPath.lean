import Serq.Thm.PeakSettle
/-!
# Where every slot's peak fits: iterations, events and whole paths

A growth always finds room, so that nobody is preempted.
-/

namespace Serq.Peak

open TwoRuns

variable {D : Deployment} {P : Params}

/-! ## Room -/

/-- What a session holds of the memory is at most what its slot may hold. -/
theorem held_le (hS : Setting D P) {d : Nat} {s : Sess} (h : SessOk D P d s) :
    heldOn P.memory s.stack ≤ top D P * heldOn P.slots s.stack := by
  rcases h.place with ⟨hst, _⟩ | ⟨r, k, u, x, hst, _, _, _, ha, hu, _⟩
  · simp [hst, heldOn]
  · obtain ⟨un1, un2⟩ := units_request hS u x
    simp only [hst, heldOn, ha, un1, un2]
    omega

/-- What some sessions hold of the memory is at most what their slots may hold. -/
theorem sumHeld_le (l : List Sess)
    (h : ∀ s ∈ l, heldOn P.memory s.stack ≤ top D P * heldOn P.slots s.stack) :
    sumHeld P.memory l ≤ top D P * sumHeld P.slots l := by
  induction l with
  | nil => simp [sumHeld]
  | cons s l ih =>
    have h1 := h s (by simp)
    have h2 := ih fun x hx => h x (by simp [hx])
    simp only [sumHeld]
    rw [Nat.mul_add]
    omega

/-- A session of the machine stands at a place of it. -/
theorem mem_at {m : Machine} {s : Sess} (hs : s ∈ m.sess.toList) : ∃ i, m.at_ i = s := by
  obtain ⟨i, hi, he⟩ := List.mem_iff_getElem.mp hs
  refine ⟨i, ?_⟩
  unfold Machine.at_ Arr.at!
  rw [Lst.nth_eq_getD, List.getD_eq_getElem?_getD, List.getElem?_eq_getElem hi]
  simpa using he

/-- What the others hold of the memory is at most what their slots may hold. -/
theorem others_le (hS : Setting D P) {m : Machine} (h : Inv D P m) (i : Nat) :
    heldOthers P.memory i m ≤ top D P * heldOthers P.slots i m := by
  unfold heldOthers
  refine sumHeld_le _ ?_
  have hmod : ∀ (l : List Sess) (n : Nat) (s : Sess),
      s ∈ Lst.mod (fun s => { s with stack := [] }) l n → s ∈ l ∨ s.stack = [] := by
    intro l
    induction l with
    | nil => intro n s hs; simp [Lst.mod] at hs
    | cons a l ih =>
      intro n s hs
      cases n with
      | zero =>
        rcases List.mem_cons.mp hs with rfl | hs
        · exact Or.inr rfl
        · exact Or.inl (by simp [hs])
      | succ n =>
        rcases List.mem_cons.mp hs with rfl | hs
        · exact Or.inl (by simp)
        · rcases ih n s hs with h' | h'
          · exact Or.inl (by simp [h'])
          · exact Or.inr h'
  intro s hs
  rcases hmod _ _ _ hs with hs | hs
  · obtain ⟨k, rfl⟩ := mem_at hs
    exact held_le hS (h.sess k)
  · simp [hs, heldOn]

/-- The memory has room for a session of one slot to hold its peak. -/
theorem room (hS : Setting D P) {m : Machine} (h : Inv D P m) {i : Nat} {r : HoldRec} {k : Block}
    {u x v : Nat} (hst : (m.at_ i).stack = [.hold r k])
    (ha : r.allocs = [⟨P.slots, 1, 0⟩, ⟨P.memory, u, x⟩]) (hv : v ≤ top D P) (huv : u ≤ v) :
    (m.pool P.memory).used + (v - u) ≤ (D.pool P.memory).cap := by
  obtain ⟨un1, un2⟩ := units_request hS u x
  have h1 := h.used
  have h2 := h.taken
  have h3 := h.cap
  have h4 := others_le hS h i
  have h5 := hS.room
  rw [heldTotal_split P.memory i, hst] at h1
  rw [heldTotal_split P.slots i, hst] at h2
  simp only [heldOn, ha, un1, un2, Nat.add_zero] at h1 h2
  have h6 : heldOthers P.slots i m + 1 ≤ (D.pool P.slots).cap := by omega
  have h7 := Nat.mul_le_mul_left (top D P) h6
  rw [Nat.mul_add, Nat.mul_one, Nat.mul_comm (top D P) (D.pool P.slots).cap] at h7
  change (D.pool P.slots).cap * top D P ≤ _ at h5
  omega

/-! ## A batch -/

/-- What a session holds after its allocation on the memory has changed. -/
theorem modInnermost_request (hS : Setting D P) (f : Alloc → Alloc) {r : HoldRec} (k : Block)
    {u x : Nat} (ha : r.allocs = [⟨P.slots, 1, 0⟩, ⟨P.memory, u, x⟩]) :
    innermost P.memory [.hold r k] = some ⟨P.memory, u, x⟩ ∧
    modInnermost P.memory f [.hold r k] =
      [.hold { r with allocs := [⟨P.slots, 1, 0⟩, f ⟨P.memory, u, x⟩], grown := true } k] := by
  have hne := hS.ne
  simp [innermost, modInnermost, findAlloc, modAlloc, ha, hne]

/-- The tokens of one session with one more entry. -/
theorem tokensOf_append (i : Nat) (l : List Entry) (e : Entry) :
    tokensOf i (l ++ [e]) = tokensOf i l + if e.owner = i then e.tokens else 0 := by
  induction l with
  | nil => simp [tokensOf]
  | cons x l ih =>
    simp only [List.cons_append, tokensOf, ih]
    split <;> omega

/-- One more entry of another session. -/
theorem distinct_append {l : List Entry} (h : DistinctEntries l) {e : Entry}
    (hn : ∀ x ∈ l, x.owner ≠ e.owner) : DistinctEntries (l ++ [e]) := by
  induction l with
  | nil => exact ⟨by simp, trivial⟩
  | cons x l ih =>
    refine ⟨?_, ih h.2 fun y hy => hn y (by simp [hy])⟩
    intro y hy
    rcases List.mem_append.mp hy with hy | hy
    · exact h.1 y hy
    · rw [List.mem_singleton.mp hy]
      exact fun h' => hn x (by simp) h'.symm

/-- Of different sessions' jobs, what one has left is its job's. -/
theorem leftOf_job {js : List Job} (h : DistinctOwners js) {j : Job} (hj : j ∈ js) :
    leftOf j.owner js = j.left := by
  induction js with
  | nil => simp at hj
  | cons x js ih =>
    rcases List.mem_cons.mp hj with rfl | hj
    · simp [leftOf, leftOf_absent h.1]
    · have hne : ¬ x.owner = j.owner := fun h' => h.1 j hj h'.symm
      simp [leftOf, hne, ih h.2 hj]

/-- A resident without tokens so far gets some, in a machine that has moved its position. -/
theorem Inv.schedule {m : Machine} (h : Inv D P m) {j : Job}
    (hj : j ∈ m.jobs) (hnew : ∀ e ∈ m.plan.batch, e.owner ≠ j.owner) {t attn2 : Nat}
    (ht : t ≤ j.left) (f : Sess → Sess)
    (hf : SessOk D P (j.left - t) (f (m.at_ j.owner)))
    (hstatus : (f (m.at_ j.owner)).status = (m.at_ j.owner).status)
    (hheld : ∀ p, heldOn p (f (m.at_ j.owner)).stack = heldOn p (m.at_ j.owner).stack) :
    Inv D P (Serq.schedule D (m.modSess j.owner f) j t attn2) := by
  obtain ⟨hi, hst, _⟩ := h.jobs j hj
  have hti : tokensOf j.owner m.plan.batch = 0 := tokensOf_absent hnew
  generalize hM : Serq.schedule D (m.modSess j.owner f) j t attn2 = M
  have hsess : M.sess = (m.modSess j.owner f).sess := by rw [← hM]; rfl
  have hjobs : M.jobs = m.jobs := by rw [← hM]; rfl
  have hpools : M.pools = m.pools := by rw [← hM]; rfl
  have hclock : M.clock = m.clock := by rw [← hM]; rfl
  have hpre : M.plan.preempts = m.plan.preempts := by rw [← hM]; rfl
  have hvic : M.plan.victims = m.plan.victims := by rw [← hM]; rfl
  obtain ⟨kv, hbatch⟩ : ∃ kv, M.plan.batch =
      m.plan.batch ++ [⟨j.owner, j.mode, t, j.left == t, j.growing, kv, attn2⟩] := by
    rw [← hM]; exact ⟨_, rfl⟩
  have hpool : ∀ p, M.pool p = m.pool p := fun p => by simp [Machine.pool, hpools]
  have hat : ∀ k, k ≠ j.owner → M.at_ k = m.at_ k := by
    intro k hne
    rw [at_eq hsess, at_mod_other hne.symm]
  have hati : M.at_ j.owner = f (m.at_ j.owner) := by
    rw [at_eq hsess, at_mod_self hi]
  have hsz : M.sess.size = m.sess.size := by rw [hsess]; simp [Machine.modSess]
  have hstat : ∀ k, (M.at_ k).status = (m.at_ k).status := by
    intro k
    by_cases hk : k = j.owner
    · subst hk; rw [hati]; exact hstatus
    · rw [hat k hk]
  have htotal : ∀ p, heldTotal p M = heldTotal p m := by
    intro p
    rw [heldTotal_eq hsess, heldTotal_mod p hi, hheld, ← heldTotal_split]
  refine ⟨?_, ?_, by rw [hjobs]; exact h.owners, ?_, ?_, by rw [hpool]; exact h.nodup, ?_,
    fun p hne => by rw [hpool]; exact h.others p hne, ?_, by rw [hpools]; exact h.lens,
    by rw [hpool, htotal]; exact h.used, by rw [hpool, htotal]; exact h.taken,
    by rw [hpool]; exact h.cap, by rw [hpre]; exact h.calm, by rw [hvic]; exact h.kept,
    by rw [hclock]; exact h.last⟩
  · intro k
    by_cases hk : k = j.owner
    · subst hk
      have hd : debt M j.owner = j.left - t := by
        unfold debt
        rw [hjobs, hbatch, tokensOf_append, hti, leftOf_job h.owners hj]
        simp
      rw [hd, hati]
      exact hf
    · have hd : debt M k = debt m k := by
        unfold debt
        rw [hjobs, hbatch, tokensOf_append, if_neg (fun h' => hk h'.symm)]
        rfl
      rw [hd, hat k hk]
      exact h.sess k
  · intro x hx
    rw [hjobs] at hx
    obtain ⟨g1, g2, g3⟩ := h.jobs x hx
    exact ⟨by rw [hsz]; exact g1, by rw [hstat]; exact g2, g3⟩
  · intro e he
    rw [hbatch] at he
    rcases List.mem_append.mp he with he | he
    · obtain ⟨x, hx, h'⟩ := h.batch e he
      exact ⟨x, by rw [hjobs]; exact hx, h'⟩
    · rw [List.mem_singleton.mp he]
      refine ⟨j, by rw [hjobs]; exact hj, rfl, ht, ?_⟩
      intro hends
      have : j.left = t := by simpa using hends
      simp only
      omega
  · rw [hbatch]
    exact distinct_append h.entries hnew
  · intro k hk
    rw [hstat]
    exact h.queued k (by rwa [hpool] at hk)
  · intro k hk hle
    rw [hstat]
    exact h.born k (by rwa [hsz] at hk) (by rwa [hclock] at hle)

/-- A resident's growth finds room: it has the units, and nobody has gone. -/
theorem Inv.grown (hS : Setting D P) {m : Machine} (h : Inv D P m) {i : Nat} (hi : i < m.sess.size)
    {r : HoldRec} {k : Block} {u x v : Nat} (hst : (m.at_ i).stack = [.hold r k])
    (hc : r.cache = none) (ha : r.allocs = [⟨P.slots, 1, 0⟩, ⟨P.memory, u, x⟩]) (hv : v ≤ top D P)
    (huv : u ≤ v) {need : Nat} (hneed : need = v - u) :
    Inv D P (addUnits (takeUnits (makeRoom D m P.memory need) P.memory need) i P.memory need) ∧
    ∃ r', ((addUnits (takeUnits (makeRoom D m P.memory need) P.memory need) i P.memory
        need).at_ i) = { m.at_ i with stack := [.hold r' k] } ∧ r'.cache = none ∧
      r'.allocs = [⟨P.slots, 1, 0⟩, ⟨P.memory, v, x⟩] := by
  obtain ⟨e1, e2⟩ := modInnermost_request hS
    (fun a => { a with units := a.units + need }) k ha
  generalize hm1 : takeUnits (makeRoom D m P.memory need) P.memory need = m1
  have hroom := makeRoom_sess D m P.memory need
  have hsess : m1.sess = m.sess := by rw [← hm1]; exact hroom.1
  have hjobs : m1.jobs = m.jobs := by rw [← hm1]; exact hroom.2
  have hsame : Same m m1 := by
    rw [← hm1]
    exact (same_makeRoom D m _ _).trans (same_modPool _ _ _)
  have hpool : ∀ p, (m1.pool p).queue = (m.pool p).queue ∧
      (m1.pool p).used = (m.pool p).used + if p = P.memory then need else 0 := by
    intro p
    have hu := makeRoom_used D m P.memory need p
    have hlen := (same_makeRoom D m P.memory need).pools
    rw [← hm1]
    unfold takeUnits
    rw [pool_modPool, hlen, h.lens]
    split
    · next h' => obtain ⟨rfl, _⟩ := h'; simp [hu.1, hu.2.2.1]
    · next h' =>
      have : ¬ p = P.memory := fun he => h' ⟨he.symm, hS.memory⟩
      simp [hu.1, hu.2.2.1, this]
  have hi1 : i < m1.sess.size := by rwa [hsess]
  unfold addUnits
  generalize hF : (fun s : Sess =>
    { s with stack := modInnermost P.memory (fun a => { a with units := a.units + need }) s.stack })
    = F
  have hFi : F (m.at_ i) = { m.at_ i with stack := [.hold { r with
      allocs := [⟨P.slots, 1, 0⟩, ⟨P.memory, v, x⟩], grown := true } k] } := by
    rw [← hF]
    simp only [hst, e2]
    have : u + need = v := by omega
    rw [this]
  have hat : ∀ j, j ≠ i → (m1.modSess i F).at_ j = m.at_ j := by
    intro j hne
    rw [at_mod_other hne.symm, at_eq hsess]
  have hati : (m1.modSess i F).at_ i = F (m.at_ i) := by
    rw [at_mod_self hi1, at_eq hsess]
  have hstat : ∀ j, ((m1.modSess i F).at_ j).status = (m.at_ j).status := by
    intro j
    by_cases hj : j = i
    · subst hj; rw [hati, hFi]
    · rw [hat j hj]
  obtain ⟨un1, un2⟩ := units_request hS v x
  obtain ⟨un3, un4⟩ := units_request hS u x
  have htotal : ∀ p, heldTotal p (m1.modSess i F) =
      heldOthers p i m + unitsOn p [⟨P.slots, 1, 0⟩, ⟨P.memory, v, x⟩] := by
    intro p
    rw [heldTotal_mod p hi1, heldOthers_eq hsess, at_eq hsess, hFi]
    simp [heldOn]
  have hbefore : ∀ p, heldTotal p m =
      heldOthers p i m + unitsOn p [⟨P.slots, 1, 0⟩, ⟨P.memory, u, x⟩] := by
    intro p
    rw [heldTotal_split p i, hst, ← ha]
    simp [heldOn]
  refine ⟨⟨?_, ?_, by show DistinctOwners m1.jobs; rw [hjobs]; exact h.owners, ?_,
    by show DistinctEntries m1.plan.batch; rw [hsame.plan]; exact h.entries,
    by show (m1.pool P.slots).queue.Nodup; rw [(hpool _).1]; exact h.nodup, ?_,
    fun p hne => by show (m1.pool p).queue = []; rw [(hpool p).1]; exact h.others p hne, ?_,
    by show m1.pools.length = _; rw [hsame.pools]; exact h.lens, ?_, ?_, ?_,
    by show m1.plan.preempts = 0; rw [hsame.plan]; exact h.calm,
    by show m1.plan.victims = []; rw [hsame.plan]; exact h.kept,
    by show m1.clock.last.preempts = 0; rw [hsame.clock]; exact h.last⟩,
    ⟨_, by rw [hati, hFi], by simp [hc], rfl⟩⟩
  · intro j
    have hd : debt (m1.modSess i F) j = debt m j := by
      show leftOf j m1.jobs - tokensOf j m1.plan.batch = _
      rw [hjobs, hsame.plan]; rfl
    rw [hd]
    by_cases hj : j = i
    · subst hj
      rw [hati, hFi]
      have := h.sess j
      refine ⟨this.turns, this.attrs, Or.inr ?_⟩
      rcases this.place with ⟨hst', _⟩ | ⟨r0, k0, u0, x0, hst', hok, hk, _, ha', _, hx⟩
      · rw [hst'] at hst; simp at hst
      · rw [hst'] at hst
        obtain ⟨rfl, rfl⟩ : r0 = r ∧ k0 = k := by simpa using hst
        rw [ha'] at ha
        obtain ⟨rfl, rfl⟩ : u0 = u ∧ x0 = x := by simpa using ha
        exact ⟨_, _, v, _, rfl, hok, hk, by simp [hc], rfl, hv, hx⟩
    · rw [hat j hj]; exact h.sess j
  · intro j hj
    have hj' : j ∈ m.jobs := by rw [← hjobs]; exact hj
    obtain ⟨g1, g2, g3⟩ := h.jobs j hj'
    exact ⟨by simpa [Machine.modSess, hsess] using g1, by rw [hstat]; exact g2, g3⟩
  · intro e he
    obtain ⟨j, hj, h'⟩ := h.batch e (by rw [← hsame.plan]; exact he)
    exact ⟨j, by show j ∈ m1.jobs; rwa [hjobs], h'⟩
  · intro j hj
    have hj' : j ∈ (m1.pool P.slots).queue := hj
    rw [hstat]
    exact h.queued j (by rwa [(hpool _).1] at hj')
  · intro j hj hle
    have hle' : m.clock.arrived ≤ j := by rw [← hsame.clock]; exact hle
    rw [hstat]
    exact h.born j (by simpa [Machine.modSess, hsess] using hj) hle'
  · show (m1.pool P.memory).used ≤ _
    have := h.used
    rw [hbefore, un4] at this
    rw [htotal, un2, (hpool _).2, if_pos rfl]
    omega
  · show _ ≤ (m1.pool P.slots).used
    have := h.taken
    rw [hbefore, un3] at this
    rw [htotal, un1, (hpool _).2, if_neg hS.ne]
    omega
  · show (m1.pool P.slots).used ≤ _
    rw [(hpool _).2, if_neg hS.ne]
    exact h.cap

/-- What serving a resident does: its tokens are in the batch, or nothing has happened. -/
def Served (m m' : Machine) (j : Job) : Prop :=
  m'.jobs = m.jobs ∧ m'.clock = m.clock ∧
    ∀ e ∈ m'.plan.batch, e ∈ m.plan.batch ∨ e.owner = j.owner

/-- Serving a resident that has no tokens yet: nobody is preempted. -/
theorem Inv.serveJob (hS : Setting D P) {m : Machine} (h : Inv D P m)
    {j : Job} (hj : j ∈ m.jobs) (hnew : ∀ e ∈ m.plan.batch, e.owner ≠ j.owner) (cap : Nat) :
    Inv D P (serveJob D cap j m).1 ∧ Served m (serveJob D cap j m).1 j := by
  have hnone : Inv D P m ∧ Served m m j := ⟨h, rfl, rfl, fun e he => Or.inl he⟩
  obtain ⟨hi, hstat, hgrow⟩ := h.jobs j hj
  have hdebt : debt m j.owner = j.left := by
    unfold debt
    rw [tokensOf_absent hnew, leftOf_job h.owners hj, Nat.sub_zero]
  have hso := h.sess j.owner
  rw [hdebt] at hso
  unfold Serq.serveJob
  split
  · exact hnone
  · split
    · exact hnone
    · simp only
      split
      · exact hnone
      · next ht0 =>
        have ht : tokensFor cap j m ≤ j.left := by
          have hw : want cap j ≤ j.left := by
            unfold want
            split
            · split <;> omega
            · split
              · omega
              · split <;> omega
          unfold tokensFor
          split <;> omega
        generalize tokensFor cap j m = t at ht ht0
        have hserved : ∀ (m' : Machine) (a : Nat), m'.jobs = m.jobs → m'.clock = m.clock →
            m'.plan.batch = m.plan.batch → Served m (Serq.schedule D m' j t a) j := by
          intro m' a h1 h2 h3
          refine ⟨h1, h2, fun e he => ?_⟩
          have he' : e ∈ m'.plan.batch ++ [_] := he
          rcases List.mem_append.mp he' with he' | he'
          · exact Or.inl (h3 ▸ he')
          · exact Or.inr (by rw [List.mem_singleton.mp he'])
        have hless : ∀ {d : Nat} {s : Sess}, SessOk D P j.left s → d ≤ j.left → SessOk D P d s := by
          intro d s h' hd
          refine ⟨h'.turns, h'.attrs, ?_⟩
          rcases h'.place with hp | ⟨r, k, u, x, h1, h2, h3, h4, h5, h6, h7⟩
          · exact Or.inl hp
          · exact Or.inr ⟨r, k, u, x, h1, h2, h3, h4, h5, h6, by omega⟩
        unfold giveTokens
        split
        · have hid : m.modSess j.owner id = m := by
            have hl : ∀ (l : List Sess) (n : Nat), Lst.mod id l n = l := by
              intro l
              induction l with
              | nil => intro n; rfl
              | cons a l ih => intro n; cases n <;> simp [Lst.mod, ih]
            simp [Machine.modSess, Arr.mod, hl]
          have := h.schedule hj hnew (attn2 := attn2Of j.mode t t) ht id
            (hless hso (by omega)) rfl (fun _ => rfl)
          rw [hid] at this
          exact ⟨this, hserved m _ rfl rfl rfl⟩
        · next p hp =>
          have hpm : p = P.memory := by
            rcases hgrow with hg | hg
            · rw [hg] at hp; simp at hp
            · rw [hg] at hp; simpa using hp.symm
          subst hpm
          rcases hso.place with ⟨hst, _⟩ | ⟨r, k, u, x, hst, hok, hk, hc, ha, hu, hx⟩
          · rw [hst]
            exact hnone
          · obtain ⟨e1, _⟩ := modInnermost_request hS id k ha
            rw [hst, e1]
            simp only
            -- the position moves in a machine in which the units are there
            have hmove : ∀ (m' : Machine) (r' : HoldRec) (v a : Nat), Inv D P m' →
                m'.jobs = m.jobs → m'.clock = m.clock → m'.plan = m.plan →
                m'.at_ j.owner = { m.at_ j.owner with stack := [.hold r' k] } →
                r'.cache = none → r'.allocs = [⟨P.slots, 1, 0⟩, ⟨P.memory, v, x⟩] → v ≤ top D P →
                Inv D P (Serq.schedule D (moveTo m' j.owner P.memory (x + t)) j t a) ∧
                  Served m (Serq.schedule D (moveTo m' j.owner P.memory (x + t)) j t a) j := by
              intro m' r' v a h' hj' hc' hp' hat hcache hallocs hv
              obtain ⟨_, e2⟩ := modInnermost_request hS (fun b => { b with pos := x + t }) k hallocs
              refine ⟨?_, hserved _ _ hj' hc' (by show m'.plan.batch = _; rw [hp'])⟩
              refine h'.schedule (by rw [hj']; exact hj)
                (by rw [hp']; exact hnew) ht _ ?_ rfl ?_
              · rw [hat]
                refine ⟨hso.turns, hso.attrs, Or.inr ⟨_, k, v, x + t, e2, hok, hk, by simp [hcache],
                  rfl, hv, ?_⟩⟩
                simp only
                omega
              · intro q
                rw [hat]
                simp only [e2, heldOn, hallocs]
                simp [unitsOn]
            split
            · exact hmove m r u _ h rfl rfl rfl (by rw [← hst]) hc ha hu
            · next hgt =>
              have hle : x + t ≤ P.peak := by omega
              have hv : roundUp (D.pool P.memory).block (x + t) ≤ top D P := roundUp_mono _ hle
              have hge : u ≤ roundUp (D.pool P.memory).block (x + t) :=
                Nat.le_trans (by omega) (le_roundUp _ _)
              have hfits := room hS h hst ha hv hge
              have hgr : grow D P.memory j.owner (roundUp (D.pool P.memory).block (x + t) - u)
                  (m.jobs.length + 1) m = (addUnits (takeUnits (makeRoom D m P.memory
                    (roundUp (D.pool P.memory).block (x + t) - u)) P.memory
                    (roundUp (D.pool P.memory).block (x + t) - u)) j.owner P.memory
                    (roundUp (D.pool P.memory).block (x + t) - u), true) := by
                unfold grow
                rw [if_pos hfits]
              rw [hgr]
              simp only
              obtain ⟨g1, r', g2, g3, g4⟩ := h.grown hS hi hst hc ha hv hge rfl
              refine hmove _ r' _ _ g1 ?_ ?_ ?_ g2 g3 g4 hv
              · exact (makeRoom_sess D m P.memory _).2
              · exact (same_makeRoom D m P.memory _).clock
              · exact (same_makeRoom D m P.memory _).plan

end Serq.Peak
